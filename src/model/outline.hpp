#pragma once

#include "call.hpp"

#include "espalier/model/evaluate.hpp"

#include <vector>

namespace espalier::model {

/// Types of what an op makes that is not understood, where they follow from shapes and constants, so that what comes
/// after it is. In the order of its outputs; nothing where they do not follow.
[[nodiscard]] std::vector<std::optional<Known>> outline_of(Node const& node, Model const& model,
                                                           Knowledge const& knowledge);

} // namespace espalier::model
