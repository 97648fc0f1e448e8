#pragma once

#include "espalier/program/word.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace espalier::expr {

/// Small numbers for sizes, so that they can be keys; the unit has number 0. There are few of them. Not thread safe.
class WordNumbers {
public:
    WordNumbers() { (void)number_of({}); }

    [[nodiscard]] std::uint32_t number_of(program::Word const& word) {
        auto const bits = std::bit_cast<Bits>(word);
        if ((bits[0] | bits[1]) == 0 && !words_.empty()) return 0;
        for (auto i = word.hash() & (slots_.size() - 1); slots_[i].is_used; i = (i + 1) & (slots_.size() - 1))
            if (slots_[i].bits[0] == bits[0] && slots_[i].bits[1] == bits[1]) return slots_[i].number;
        return add(word);
    }
    [[nodiscard]] program::Word const& operator[](std::uint32_t number) const { return words_[number]; }
    [[nodiscard]] std::size_t memory_bytes() const {
        return words_.capacity() * sizeof(program::Word) + slots_.capacity() * sizeof(Slot);
    }

private:
    using Bits = std::array<std::uint64_t, 2>; // compared without a call of memcmp
    struct Slot {
        Bits bits{};
        std::uint32_t number = 0;
        bool is_used = false;
    };

    std::uint32_t add(program::Word const& word);
    void place(std::uint32_t number);

    std::vector<Slot> slots_ = std::vector<Slot>(64); ///< open addressing, at most half full
    std::vector<program::Word> words_;
};

} // namespace espalier::expr
