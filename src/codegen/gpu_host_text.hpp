#pragma once

#include "espalier/codegen/gpu_plan.hpp"

#include <string>

namespace espalier::codegen {

/// Programs that launch the kernels NAME_0, NAME_1, ..: functions NAME on tensors of the host, and NAME_upload,
/// NAME_launch, NAME_wait, NAME_release for callers who keep them on the device.

/// In C. The kernels are in NAME.inc, as the text of a string.
[[nodiscard]] std::string opencl_host(GpuPlan const& plan, std::string const& name);
/// What follows the kernels in a file of CUDA C++.
[[nodiscard]] std::string cuda_host(GpuPlan const& plan, std::string const& name);
/// The declarations of both.
[[nodiscard]] std::string gpu_header(GpuPlan const& plan, std::string const& name);

} // namespace espalier::codegen
