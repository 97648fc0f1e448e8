#pragma once

#include <string_view>

/// What the text of GPU kernels is written in.
namespace espalier::codegen {

/// OpenCL C: half-precision numbers are loaded and stored by its own functions, which need no extension.
[[nodiscard]] std::string_view opencl_prelude();
[[nodiscard]] std::string_view cuda_prelude();

} // namespace espalier::codegen
