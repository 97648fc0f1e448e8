#pragma once

#include "espalier/problems/substitution/library.hpp"

namespace espalier::problems::substitution::affine {

/// Whether the sides of a rule of `space: affine` are equal for all real values that meet its conditions, for all
/// shapes, and each has a meaning where the other one has.
///
/// Every output element is a quotient of polynomials of input elements wherever each clip has decided for one of its
/// three cases; both are compared case by case. A convolution is linear: it becomes a sum of convolutions of monomials,
/// each a variable of its own, in which 1 is not a number (of the zeros outside there is no 1). Everything is
/// continuous, so that cases in which two things are equal need no look. False means: not proved.
[[nodiscard]] bool prove(library::Rule const& rule);

} // namespace espalier::problems::substitution::affine
