#pragma once

#include <string_view>

/// What the text of GPU kernels is written in.
namespace espalier::codegen {

/// OpenCL C: half-precision numbers are loaded and stored by its own functions, which need no extension.
[[nodiscard]] std::string_view opencl_prelude();
[[nodiscard]] std::string_view cuda_prelude();
/// What dialects have in common: sums, choices, NUMBER and `real`.
[[nodiscard]] std::string_view gpu_words();

} // namespace espalier::codegen
