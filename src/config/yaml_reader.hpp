#pragma once

#include "espalier/config/diagnostics.hpp"

#include <optional>
#include <string_view>

namespace espalier::config {

/// The one document in `text`, or nothing if it cannot be read; what is wrong is reported. Duplicate keys and other
/// things that YAML libraries let pass are reported too. `source` is that of every place.
[[nodiscard]] std::optional<Value> read_yaml(std::string_view text, int source, Context const& at);

} // namespace espalier::config
