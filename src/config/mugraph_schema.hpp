#pragma once

#include "section.hpp"

#include "espalier/config/mugraph_config.hpp"

namespace espalier::config {

[[nodiscard]] Section<MugraphConfig> mugraph_section();
/// The program in its ops and the machine in its numbers.
[[nodiscard]] MugraphConfig canonical_mugraph(MugraphConfig config);

/// `mirage`, `full` or a map that starts from one of them.
[[nodiscard]] Codec<SpaceConfig> space_codec();

} // namespace espalier::config
