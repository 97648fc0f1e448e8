#pragma once

#include "espalier/program/graph.hpp"
#include "espalier/program/real.hpp"

#include <vector>

namespace espalier::verify::real {

using program::Real;

/// The sum of products of neighbours in `a` and of every `stride`-th in `b`.
[[nodiscard]] Real dot(Real const* a, Real const* b, std::size_t count, std::size_t stride);
/// What rms_norm or layer_norm makes of a row.
void normalise_row(program::Op const& op, std::vector<Real>& row);

} // namespace espalier::verify::real
