#pragma once

#include "espalier/verify/evaluate.hpp"

namespace espalier::verify {

/// About `max_elements` elements of a tensor, a random product of index lists: all of small dimensions, of large ones
/// one index from every part. Never one index of a dimension that has two: a program
/// that is right in one block and wrong in another must be caught. 0, or enough for all: everything.
[[nodiscard]] Demand sample(program::Shape const& shape, std::int64_t max_elements, std::uint64_t seed);
/// How many indices of each dimension make about `max_elements` elements, `least` or more of each that has them: small
/// dimensions whole, the others share what is left evenly.
[[nodiscard]] std::vector<std::int64_t> index_counts(program::Shape const& shape, std::int64_t max_elements,
                                                     std::int64_t least);
/// How many elements of a tensor are demanded.
[[nodiscard]] std::int64_t element_count(Demand const& demand, program::Shape const& shape);

/// Whether more than about so many values have to be computed and drawn for a sample of a program's outputs.
[[nodiscard]] bool is_much_work(program::Graph const& graph, std::int64_t max_elements, double limit);

} // namespace espalier::verify
