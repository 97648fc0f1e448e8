#pragma once

#include "espalier/problems/kind/command.hpp"

namespace espalier::problems::placement {

/// `collectives`: executes the programs of a run, or calibrates the machine.
[[nodiscard]] Command collectives_command();

} // namespace espalier::problems::placement
