#pragma once

#include "espalier/field/scalar.hpp"
#include "espalier/program/shape.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace espalier::verify {

/// A tensor of the reference evaluator: one value after the other, no batch.
struct PlainTensor {
    program::Shape shape;
    bool has_q = false;
    std::vector<field::Element> values;
};

using Index = std::array<std::int64_t, program::max_rank>;

[[nodiscard]] inline std::size_t flat(program::Shape const& shape, Index const& index) {
    std::int64_t at = 0;
    for (int i = 0; i < shape.rank(); ++i) at = at * shape[i] + index[static_cast<std::size_t>(i)];
    return static_cast<std::size_t>(at);
}
/// Calls each(index) in row-major order.
template <class Each>
void for_each_index(program::Shape const& shape, Each&& each) {
    auto const count = element_count(shape);
    for (std::int64_t n = 0; n < count; ++n) {
        Index index{};
        auto rest = n;
        for (int i = shape.rank() - 1; i >= 0; --i) {
            index[static_cast<std::size_t>(i)] = rest % shape[i];
            rest /= shape[i];
        }
        each(index);
    }
}

[[nodiscard]] inline PlainTensor zeros(program::Shape const& shape, bool has_q) {
    return {shape, has_q, std::vector<field::Element>(static_cast<std::size_t>(element_count(shape)))};
}

} // namespace espalier::verify
