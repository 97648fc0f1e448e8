#pragma once

#include "value.hpp"

#include <string_view>

namespace espalier::config {

/// Puts `value` at a dotted key; maps on the way are made. What is no map on the way becomes the shorthand of one, and
/// the table then says whether that is allowed.
void set_at(Value& root, std::string_view key, Value value);

} // namespace espalier::config
