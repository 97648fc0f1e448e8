#pragma once

#include <span>
#include <string_view>

namespace espalier::config {

struct HardwareFile {
    std::string_view name; ///< a100
    std::string_view text; ///< YAML
};
/// The files of config/hardware as they were when this was built; CMake writes the definition.
[[nodiscard]] std::span<HardwareFile const> hardware_files();

} // namespace espalier::config
