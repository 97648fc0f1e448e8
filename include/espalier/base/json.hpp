#pragma once

#include <nlohmann/json.hpp>

namespace espalier::base {
/// Keeps the order of insertion, so that output reads as it was written.
using Json = nlohmann::ordered_json;
} // namespace espalier::base
