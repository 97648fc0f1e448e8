#pragma once

#include "espalier/problems/mugraph/mugraph_config.hpp"

namespace espalier::problems::mugraph {

/// `mirage`, `full` or a map that starts from one of them.
[[nodiscard]] config::Codec<SpaceConfig> space_codec();

} // namespace espalier::problems::mugraph
