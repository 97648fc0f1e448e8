#pragma once

#include "espalier/base/stop.hpp"
#include "espalier/model/nest.hpp"

#include <optional>
#include <vector>

namespace espalier::model {

/// Operands of a node, then what its earlier nests made.
using Sources = std::vector<Array const*>;

/// Value by value, as the nest is written: what the other two are tested against.
[[nodiscard]] Array evaluate_plainly(Nest const& nest, Sources const& sources, base::StopToken const& stop);
/// A row of results at a time. Nothing for nests that are not of real numbers only, or that look places up.
[[nodiscard]] std::optional<Array> evaluate_rows(Nest const& nest, Sources const& sources, base::StopToken const& stop);
/// Sums of products of two reals as products of matrices. Nothing for other nests.
[[nodiscard]] std::optional<Array> evaluate_contraction(Nest const& nest, Sources const& sources,
                                                        base::StopToken const& stop);
/// The fastest of them.
[[nodiscard]] Array evaluate_nest(Nest const& nest, Sources const& sources, base::StopToken const& stop);

/// The epilogue as a nest of its own, over the results of the reduction and how many values each was of, which are the
/// sources `from` and `from + 1`.
[[nodiscard]] Nest epilogue_nest(Nest const& nest, std::size_t from);

/// All outputs of a definition that are named; the others are empty.
[[nodiscard]] std::vector<Array> evaluate_definition(Definition const& definition, Node const& node,
                                                     Sources const& operands, base::StopToken const& stop);

} // namespace espalier::model
