#pragma once

#include "espalier/codegen/gpu_plan.hpp"

namespace espalier::codegen {

/// Sets the barriers of a kernel: as few as it takes so that no two threads use an element of local memory at a time
/// while one of them writes, and none that could be left out.
void place_barriers(GpuKernel& kernel, std::vector<Buffer> const& buffers);

} // namespace espalier::codegen
