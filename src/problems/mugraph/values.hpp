#pragma once

#include "reject.hpp"
#include "target.hpp"

#include "espalier/base/ids.hpp"
#include "espalier/program/expression_builder.hpp"
#include "espalier/verify/tiles.hpp"

#include <cstdint>
#include <vector>

namespace espalier::problems::mugraph {

/// A tensor of a partial program: its shape in symbols, its abstract expression, and its values on the shrunk shape.
struct PartialTensor {
    int output = 0; ///< of the op that makes it: which
    program::SymbolicShape shape;
    program::ExprId expr;
    program::LoopSide side = program::LoopSide::in_loop;
    bool is_uncertain = false; ///< something was divided by zero on the way: the values say nothing
    bool has_product = false;  ///< made with a contraction in its own graph
    bool is_maximum = false;   ///< of a row: what steps of a loop are rescaled by
    bool takes_memory = true;  ///< Mirage's rule: results of unary ops and plain accumulators do not
    std::uint64_t print = 0;   ///< of values, shape and loop side
    std::uint64_t content = 0; ///< of how it is made
    verify::Tiles tiles;
    std::vector<std::uint32_t> bytes; ///< on each of the schedules at hand

    [[nodiscard]] std::size_t memory_bytes() const {
        return sizeof(PartialTensor) + 4 * (tiles.p.capacity() + tiles.q.capacity() + bytes.capacity());
    }
};

using ValueId = base::StrongId<struct ValueTag, std::int32_t>; ///< of a value of one graph, in the order of making

/// What an op gives on certain operands: the first of its values, after which the others come, or why there are none.
class Outcome {
public:
    Outcome() = default; ///< not known
    explicit Outcome(ValueId first) : code_(first.value) {}
    explicit Outcome(Reject why) : code_(-1 - static_cast<std::int32_t>(why)) {}

    [[nodiscard]] bool is_known() const { return code_ != unknown; }
    [[nodiscard]] bool has_values() const { return code_ >= 0; }
    [[nodiscard]] ValueId first() const { return ValueId{code_}; }
    [[nodiscard]] Reject why() const { return static_cast<Reject>(-1 - code_); }
    bool operator==(Outcome const&) const = default;

private:
    static constexpr std::int32_t unknown = INT32_MIN;
    std::int32_t code_ = unknown;
};

/// Values by number, and which op on which operands gives which: an outcome, once found, is a lookup.
///
/// Invariant: every outcome that is noted is about values that are there. Values never change.
class Values {
public:
    [[nodiscard]] int size() const { return static_cast<int>(values_.size()); }
    [[nodiscard]] PartialTensor const& operator[](ValueId id) const {
        return values_[static_cast<std::size_t>(id.value)];
    }
    ValueId add(PartialTensor value) {
        memory_ += value.memory_bytes();
        values_.push_back(std::move(value));
        return ValueId{size() - 1};
    }
    /// Not known unless it was noted.
    [[nodiscard]] Outcome find(std::uint64_t key) const {
        for (auto at = place(key);; at = (at + 1) & mask())
            if (!slots_[at].outcome.is_known() || slots_[at].key == key) return slots_[at].outcome;
    }
    /// Once per key.
    void note(std::uint64_t key, Outcome outcome) {
        if (2 * (noted_ + 1) > slots_.size()) grow();
        insert(key, outcome);
        ++noted_;
    }
    [[nodiscard]] std::size_t memory_bytes() const { return memory_ + slots_.size() * sizeof(Slot); }

private:
    struct Slot {
        std::uint64_t key = 0;
        Outcome outcome;
    };
    [[nodiscard]] std::size_t mask() const { return slots_.size() - 1; }
    [[nodiscard]] std::size_t place(std::uint64_t key) const {
        return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ull) >> 20) & mask();
    }
    void insert(std::uint64_t key, Outcome outcome) {
        auto at = place(key);
        while (slots_[at].outcome.is_known()) at = (at + 1) & mask();
        slots_[at] = {key, outcome};
    }
    void grow() {
        auto const old = std::move(slots_);
        slots_.assign(2 * old.size(), {});
        for (auto const& slot : old)
            if (slot.outcome.is_known()) insert(slot.key, slot.outcome);
    }

    std::vector<PartialTensor> values_;
    std::vector<Slot> slots_ = std::vector<Slot>(64);
    std::size_t noted_ = 0;
    std::size_t memory_ = 0;
};

/// Tiles of a whole tensor for every block and loop step.
[[nodiscard]] verify::Tiles cut_tiles(verify::Tiles const& whole, Cut const& cut,
                                      std::array<std::int64_t, 3> const& grid, std::int64_t loop);
/// The whole tensor from one tile per block; `joins` is the dimension along which each axis lays them out, or -1.
[[nodiscard]] verify::Tiles join_tiles(verify::Tiles const& tiles, std::array<int, 3> const& joins,
                                       std::array<std::int64_t, 3> const& grid);
/// The first of its `loop` tiles for every block.
[[nodiscard]] verify::Tiles first_tiles(verify::Tiles const& tiles, std::int64_t loop);
/// A fingerprint of the values.
[[nodiscard]] std::uint64_t print_of(verify::Tiles const& tiles);

} // namespace espalier::problems::mugraph
