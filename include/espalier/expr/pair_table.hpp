#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace espalier::expr {

/// A map from pairs of numbers to numbers, for memos that are asked millions of times a second: open addressing, at
/// most half full, nothing is ever removed. The pair of two largest numbers is always there, and gives the largest
/// number. Not thread safe.
class PairTable {
public:
    PairTable() : slots_(initial_slots) {}

    /// Null if the pair was never inserted. Valid until the next insertion.
    [[nodiscard]] std::uint32_t const* find(std::uint32_t a, std::uint32_t b) const {
        auto const key = key_of(a, b);
        for (auto i = slot_of(key);; i = (i + 1) & (slots_.size() - 1)) {
            if (slots_[i].key == key) return &slots_[i].value;
            if (slots_[i].key == no_key) return nullptr;
        }
    }
    /// The pair must not be in the table.
    void insert(std::uint32_t a, std::uint32_t b, std::uint32_t value) {
        if (2 * (count_ + 1) > slots_.size()) grow();
        place({key_of(a, b), value});
        ++count_;
    }
    void clear() { *this = PairTable{}; }
    [[nodiscard]] std::size_t size() const { return count_; }
    [[nodiscard]] std::size_t memory_bytes() const { return slots_.capacity() * sizeof(Slot); }

private:
    static constexpr std::uint32_t largest = ~std::uint32_t{0};
    static constexpr std::uint64_t no_key = ~std::uint64_t{0}; ///< found at the first empty slot
    static constexpr std::size_t initial_slots = 256;
    struct Slot {
        std::uint64_t key = no_key;
        std::uint32_t value = largest;
    };

    static constexpr std::uint64_t key_of(std::uint32_t a, std::uint32_t b) { return std::uint64_t{a} << 32 | b; }
    [[nodiscard]] std::size_t slot_of(std::uint64_t key) const {
        auto h = key * 0x9E3779B97F4A7C15ull;
        h = (h ^ (h >> 29)) * 0xBF58476D1CE4E5B9ull;
        return h >> shift_;
    }
    void place(Slot slot) {
        auto i = slot_of(slot.key);
        while (slots_[i].key != no_key) i = (i + 1) & (slots_.size() - 1);
        slots_[i] = slot;
    }
    void grow() {
        auto const old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
        --shift_;
        for (auto const& slot : old)
            if (slot.key != no_key) place(slot);
    }

    std::vector<Slot> slots_;
    std::size_t count_ = 0;
    int shift_ = 64 - std::countr_zero(initial_slots);
};

} // namespace espalier::expr
