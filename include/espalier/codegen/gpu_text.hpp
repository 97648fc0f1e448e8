#pragma once

#include "espalier/codegen/gpu_plan.hpp"

#include <string>

namespace espalier::codegen {

/// The kernels NAME_0, NAME_1, .. in terms of KERNEL, GLOBAL, LOCAL, TILES, BARRIER, TID, BLOCK and those of values.
/// A prelude says what these words are: it makes the same text OpenCL C, CUDA C++ or, in tests, C++ with threads.
[[nodiscard]] std::string gpu_kernels(GpuPlan const& plan, std::string const& name);
/// What all preludes have in common; it comes after `real`.
[[nodiscard]] std::string gpu_words();
/// Of preludes in C++ for machines with tensor cores: the word MMA_TILE by a function mma_16_8_16.
[[nodiscard]] std::string tensor_core_words();
/// The parameters of each kernel: TENSORS, all inputs, all outputs, and the workspace.
[[nodiscard]] std::string gpu_parameters(Plan const& plan);

[[nodiscard]] std::string opencl_kernels(GpuPlan const& plan, std::string const& name);
[[nodiscard]] std::string cuda_kernels(GpuPlan const& plan, std::string const& name);

} // namespace espalier::codegen
