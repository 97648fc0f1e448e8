#pragma once

#include "matching.hpp"

#include <string>

namespace espalier::problems::substitution {

/// What is known about a rule for all shapes.
struct Proof {
    bool holds = false;
    std::string condition; ///< which shapes: those of the inputs, in sizes that may be chosen
};

/// Whether two graphs compute the same for all sizes that fit them, over the real numbers.
///
/// Every element of an output is written as a sum of products of input elements, by the definitions of the operators,
/// and both sides are brought to a normal form. Images are functions on all whole numbers that are 0 outside. Nothing
/// is used of relu but that it is a function of each element with f(0) = 0, nothing of a maximum but that it is a
/// function of the window. False means: not proved. `table`: that of the search, for which outputs belong together and
/// what marks mean.
[[nodiscard]] Proof prove(OperatorGraph const& left, OperatorGraph const& right, TensorTable& table);

} // namespace espalier::problems::substitution
