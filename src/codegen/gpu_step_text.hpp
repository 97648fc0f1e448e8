#pragma once

#include "espalier/codegen/gpu_plan.hpp"
#include "step_text.hpp"

namespace espalier::codegen {

/// Prints a step of a kernel as the threads of a group share it, with its barriers.
void print_group_step(GpuKernel const& kernel, std::size_t step, std::vector<Buffer> const& buffers, Lines& out);
/// Fetches and declarations before the loop: none for most steps.
void print_before_loop(GpuKernel const& kernel, std::size_t step, std::vector<Buffer> const& buffers, Lines& out);

} // namespace espalier::codegen
