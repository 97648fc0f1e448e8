#pragma once

#include "espalier/config/codec.hpp"

#include "espalier/config/hardware_config.hpp"

namespace espalier::config {

/// `here`, a built-in machine by name, a complete YAML file by its path, or a map of keys that differ from one of
/// these.
[[nodiscard]] Codec<HardwareConfig> hardware_codec();
/// Without the name, which its numbers do not need.
[[nodiscard]] HardwareConfig canonical_hardware(HardwareConfig hardware);

} // namespace espalier::config
