#pragma once

#include "espalier/problems/kind/kind.hpp"
#include "espalier/problems/mugraph/mugraph_config.hpp"

/// The machine that searches, as the hardware that costs are for.
namespace espalier::problems::mugraph {

/// With the numbers of the run that is resumed, those that are kept of this machine, or new ones, where the experiment
/// says `here`; else as it is.
[[nodiscard]] MugraphConfig prepared(MugraphConfig config, Preparing const& how);

/// `espalier hardware`: lists machines, measures this one.
[[nodiscard]] Command hardware_command();

} // namespace espalier::problems::mugraph
