#pragma once

#include "section.hpp"

#include "espalier/config/uts_config.hpp"

namespace espalier::config {

[[nodiscard]] Section<UtsConfig> uts_section();
/// Without the tree's name, which its parameters imply.
[[nodiscard]] UtsConfig canonical_uts(UtsConfig config);

} // namespace espalier::config
