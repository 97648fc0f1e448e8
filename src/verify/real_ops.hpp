#pragma once

#include "espalier/program/graph.hpp"
#include "espalier/program/real.hpp"

#include <vector>

namespace espalier::verify::real {

using program::Real;

/// The sum of products of neighbours in `a` and of every `stride`-th in `b`.
[[nodiscard]] Real dot(Real const* a, Real const* b, std::size_t count, std::size_t stride);
/// With the `eps` that the op may have.
[[nodiscard]] Real root_mean(Real mean_square, program::Attributes const& attributes);
/// A norm of a row.
void normalise_row(program::Op const& op, std::vector<Real>& row);

} // namespace espalier::verify::real
