#pragma once

#include "espalier/config/diagnostics.hpp"

#include <optional>
#include <string_view>

namespace espalier::config {

struct Override;

/// The value of an override, whose errors are those of `source`. A text of which YAML would drop a part, such as what
/// follows a ` #`, is refused: on a command line nobody writes comments.
[[nodiscard]] std::optional<Value> read_override(Override const& override, int source, Context const& at);

/// Puts `value` at a dotted key; maps on the way are made. What is not a map on the way becomes the shorthand of one,
/// and the table then says whether that is allowed.
void set_at(Value& document, std::string_view key, Value value);

} // namespace espalier::config
