#pragma once

#include "espalier/verify/evaluation.hpp"

namespace espalier::verify {

/// A bound on the probability that two programs which differ as formulas in an element agree in it on one random draw.
///
/// A value is a quotient of polynomials in the inputs and in the values of random functions (silu, ..., and sqrt with
/// Roots::random_function). Such a value is a new variable of degree 1, unless two applications with different
/// arguments meet at one argument. Degrees (numerator, denominator) are bounded op by op: a sum of k quotients (n, d)
/// has (n + (k - 1) d, k d). With (n1, d1) and (n2, d2) for the two elements, c applications in both their cones and
/// arguments of degrees at most (n, d), Schwartz and Zippel give
///     (max(n1 + d2, n2 + d1) + c (c - 1) / 2 * (n + d)) / p, and never more than 1,
/// for the event that the draw divides by no zero and the elements agree. It holds for every element that is compared.
/// It is 1 with an exp (that would need an argument of independence for the powers of its base), with a maximum or
/// minimum (which says nothing about most of its arguments) and with a root taken as a power, whose degree is of the
/// size of p.
[[nodiscard]] double error_bound(program::Graph const& a, program::Graph const& b, field::Roots roots);

} // namespace espalier::verify
