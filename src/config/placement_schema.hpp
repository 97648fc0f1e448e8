#pragma once

#include "section.hpp"

#include "espalier/config/placement_config.hpp"

namespace espalier::config {

[[nodiscard]] Section<PlacementConfig> placement_section();

} // namespace espalier::config
