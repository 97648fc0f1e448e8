#pragma once

#include "espalier/config/problem_section.hpp"
#include "espalier/problems/mugraph/mugraph_config.hpp"

#include <optional>
#include <string>

namespace espalier::problems::mugraph {

/// Which single key, set differently, lets a program through: found by trying each of them in a small search of its
/// own, the same everywhere. `space.max_block_ops: 6`; nothing if none of them does within a number of nodes.
[[nodiscard]] std::optional<std::string> find_remedy(MugraphConfig const& config, std::uint64_t nodes = 30'000);

} // namespace espalier::problems::mugraph
