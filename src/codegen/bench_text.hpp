#pragma once

#include "espalier/codegen/plan.hpp"

#include <string>

namespace espalier::codegen {

/// A program that checks NAME and NAME_input against float64, and then measures both. `input` is the program that was
/// searched, of library kernels only.
[[nodiscard]] std::string bench_source(Plan const& input, std::string const& name);

} // namespace espalier::codegen
