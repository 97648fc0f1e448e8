#pragma once

#include "espalier/config/problem_section.hpp"

namespace espalier::config {

/// A map whose `kind` selects one of these sections.
[[nodiscard]] Codec<ProblemConfig> kind_codec(ProblemSections const& kinds);

} // namespace espalier::config
