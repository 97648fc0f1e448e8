#pragma once

#include "espalier/problems/kind/kind.hpp"
#include "espalier/problems/mugraph/mugraph_config.hpp"

/// The machine that searches, as the hardware that costs are for.
namespace espalier::problems::mugraph {

/// Where the experiment says `here`: with the numbers of the run that is resumed, those that are kept of this machine,
/// or new ones; else as it is.
[[nodiscard]] MugraphConfig prepared(MugraphConfig config, Preparing const& how);

/// `espalier hardware`: lists machines, measures this one.
[[nodiscard]] Command hardware_command();

} // namespace espalier::problems::mugraph
