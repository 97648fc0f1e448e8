#pragma once

#include "proof_element.hpp"

#include "espalier/program/sign.hpp"

namespace espalier::verify::proof {

using program::product;
using program::Sign;
using program::total;

/// Of all elements of a tensor, by the ops that make it: squares, exponentials, roots, and sums, products and quotients
/// of what is known. Written sums forget such things: the square of a sum is a sum of products.
[[nodiscard]] Sign sign_of(Frame const& frame, program::TensorId tensor);
/// Whether the arguments of a function are where it is defined, as far as signs tell.
[[nodiscard]] bool has_domain(Frame const& frame, program::Op const& op);

/// Whether every element of every tensor of a kernel graph is defined for all inputs, as far as signs tell.
[[nodiscard]] bool is_total(TypedGraph const& typed);

} // namespace espalier::verify::proof
