#pragma once

#include "espalier/base/ids.hpp"
#include "espalier/base/indexed.hpp"

#include <cstdint>
#include <vector>

namespace espalier::program {

using TensorId = base::StrongId<struct TensorTag, std::int32_t>; ///< of a graph: inputs first, then what ops make
using OpId = base::StrongId<struct OpTag, std::int32_t>;         ///< of a graph, in order
inline constexpr OpId no_op{-1};                                 ///< the maker of an input

/// Tensors of one graph, which may be written as a list of numbers.
class TensorIds : public std::vector<TensorId> {
public:
    using std::vector<TensorId>::vector;
    TensorIds(std::initializer_list<TensorId> ids) : vector(ids) {}
    TensorIds(std::initializer_list<std::int32_t> numbers) {
        for (auto const number : numbers) emplace_back(number);
    }
};

} // namespace espalier::program
