#pragma once

#include "espalier/model/model.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace espalier::problems::rewrite {

/// Nodes that stand together: most by themselves. Empty: its nodes are part of another unit.
using Units = std::vector<std::vector<std::size_t>>;
[[nodiscard]] Units single_units(model::Model const& model);

/// Units after those whose results they use, depth first: what belongs together is together. Nothing if there is a
/// cycle.
[[nodiscard]] std::optional<std::vector<std::size_t>> chained(model::Model const& model, Units const& units);

} // namespace espalier::problems::rewrite
