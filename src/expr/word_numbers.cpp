#include "espalier/expr/word_numbers.hpp"

namespace espalier::expr {

std::uint32_t WordNumbers::add(program::Word const& word) {
    auto const number = static_cast<std::uint32_t>(words_.size());
    words_.push_back(word);
    if (2 * words_.size() > slots_.size()) {
        slots_.assign(2 * slots_.size(), {});
        for (std::uint32_t n = 0; n < number; ++n) place(n);
    }
    place(number);
    return number;
}

void WordNumbers::place(std::uint32_t number) {
    auto i = words_[number].hash() & (slots_.size() - 1);
    while (slots_[i].is_used) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = {std::bit_cast<Bits>(words_[number]), number, true};
}

} // namespace espalier::expr
