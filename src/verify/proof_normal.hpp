#pragma once

#include "proof_key.hpp"

namespace espalier::verify::proof {

/// Brings a value to its normal form, from the inside out. Besides the laws of proof_sum.hpp it knows
///   sum over r of t = size(r) t, if r is not in t
///   sum over r of t = sum over its digits, if t does not use r as a whole everywhere
///   sum over a, b of t = sum over c of t, if a and b stand in t only as size(b) a + b, which becomes c
///   x / (q y) = x / y / q for a number q; exp(0) = 1; sqrt(0) = 0
///   x / (sum of exp(c) y) = x exp(-c) / (sum of y), if c is in the exponent of every term and none of its variables is
///     bound there
///   the largest of largest values is the largest of all, and an option that is there twice counts once
/// and adds like terms. Variables that are not bound in `sum` stay as they are. Unprovable if something is divided by
/// zero.
[[nodiscard]] Sum normal_form(Workspace& work, Sum sum);

} // namespace espalier::verify::proof
