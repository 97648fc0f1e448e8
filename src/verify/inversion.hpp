#pragma once

#include "arithmetic.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace espalier::verify {

/// All inverses with one inversion (Montgomery): prefix products forwards, quotients backwards. Empty if one is zero.
template <class F>
[[nodiscard]] std::vector<std::uint32_t> inverses(std::span<std::uint32_t const> values) {
    std::vector<std::uint32_t> out(values.size());
    std::uint32_t product = 1;
    for (std::size_t i = 0; i < values.size(); ++i) {
        out[i] = product;
        product = Folded<F>::mul(product, values[i]);
    }
    if (product == 0) return {};
    auto quotient = F::inverse(product);
    for (auto i = values.size(); i-- > 0;) {
        out[i] = Folded<F>::mul(out[i], quotient);
        quotient = Folded<F>::mul(quotient, values[i]);
    }
    return out;
}

} // namespace espalier::verify
