#pragma once

#include "espalier/codegen/plan.hpp"

#include <string>
#include <string_view>

namespace espalier::codegen {

/// Where the measured program runs.
enum class BenchOf : std::uint8_t { host, device };

/// A program that checks NAME and NAME_input against float64, and then measures both. `input` is the input
/// program, of library kernels only. On a device, tensors are there before time is taken.
[[nodiscard]] std::string bench_source(Plan const& input, std::string const& name, std::string_view target = "cpu",
                                       BenchOf where = BenchOf::host);

} // namespace espalier::codegen
