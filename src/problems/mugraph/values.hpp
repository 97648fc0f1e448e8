#pragma once

#include "target.hpp"

#include "espalier/program/expression_builder.hpp"
#include "espalier/verify/tiles.hpp"

#include <cstdint>
#include <vector>

namespace espalier::problems::mugraph {

/// Why an op was not taken. The names are those of the funnel.
enum class Reject : std::uint8_t {
    shape,       ///< operands do not fit
    loop_side,   ///< one in the loop, one after it
    expression,  ///< no part of the program
    undefined,   ///< an exponential of an exponential
    equal_value, ///< is there already
    unconsumed,  ///< more tensors than the remaining ops can use up
    memory,      ///< shared memory
    last_op,     ///< no op is left, and it is not the output
    no_grid,     ///< a class of schedules: no grid of the space divides the sizes
    no_loop,     ///< the same for the loop: no range divides
};
inline constexpr int reject_count = 10;

/// A tensor of a partial program: its shape in symbols, its abstract expression, and its values on the shrunk shape.
struct Value {
    program::SymbolicShape shape;
    program::ExprId expr;
    bool is_after_loop = false;
    bool is_uncertain = false; ///< something was divided by zero on the way: the values say nothing
    bool takes_memory = true;  ///< Mirage's rule: results of unary ops and plain accumulators do not
    std::uint64_t print = 0;   ///< of values, shape and loop side
    std::uint64_t content = 0; ///< of how it is made
    verify::Tiles tiles;
    std::vector<std::uint32_t> bytes; ///< on each of the schedules at hand

    [[nodiscard]] std::size_t memory_bytes() const {
        return sizeof(Value) + 4 * (tiles.p.capacity() + tiles.q.capacity() + bytes.capacity());
    }
};

/// Values by number, and which op on which operands gives which: an answer, once found, is a lookup.
class Values {
public:
    static constexpr std::int32_t missing = INT32_MIN;

    [[nodiscard]] int size() const { return static_cast<int>(values_.size()); }
    [[nodiscard]] Value const& operator[](int id) const { return values_[static_cast<std::size_t>(id)]; }
    int add(Value value) {
        memory_ += value.memory_bytes();
        values_.push_back(std::move(value));
        return size() - 1;
    }
    /// The value's number; -1 - Reject if there is none; or missing.
    [[nodiscard]] std::int32_t find(std::uint64_t key) const {
        for (auto at = place(key);; at = (at + 1) & mask()) {
            if (slots_[at].answer == missing) return missing;
            if (slots_[at].key == key) return slots_[at].answer;
        }
    }
    void note(std::uint64_t key, std::int32_t answer) {
        if (2 * (noted_ + 1) > slots_.size()) grow();
        insert(key, answer);
        ++noted_;
    }
    [[nodiscard]] std::size_t memory_bytes() const { return memory_ + slots_.size() * sizeof(Slot); }

private:
    struct Slot {
        std::uint64_t key = 0;
        std::int32_t answer = missing;
    };
    [[nodiscard]] std::size_t mask() const { return slots_.size() - 1; }
    [[nodiscard]] std::size_t place(std::uint64_t key) const {
        return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ull) >> 20) & mask();
    }
    void insert(std::uint64_t key, std::int32_t answer) {
        auto at = place(key);
        while (slots_[at].answer != missing) at = (at + 1) & mask();
        slots_[at] = {key, answer};
    }
    void grow() {
        auto const old = std::move(slots_);
        slots_.assign(2 * old.size(), {});
        for (auto const& slot : old)
            if (slot.answer != missing) insert(slot.key, slot.answer);
    }

    std::vector<Value> values_;
    std::vector<Slot> slots_ = std::vector<Slot>(64);
    std::size_t noted_ = 0;
    std::size_t memory_ = 0;
};

/// Tiles of a whole tensor for every block and loop step.
[[nodiscard]] verify::Tiles cut_tiles(verify::Tiles const& whole, Cut const& cut,
                                      std::array<std::int64_t, 3> const& grid, std::int64_t loop);
/// The whole tensor from a tile a block; `joins` is the dimension along which each axis lays them out, or -1.
[[nodiscard]] verify::Tiles join_tiles(verify::Tiles const& tiles, std::array<int, 3> const& joins,
                                       std::array<std::int64_t, 3> const& grid);
/// A fingerprint of the values.
[[nodiscard]] std::uint64_t print_of(verify::Tiles const& tiles);

} // namespace espalier::problems::mugraph
