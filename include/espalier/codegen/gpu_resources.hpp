#pragma once

#include "espalier/codegen/gpu_plan.hpp"
#include "espalier/codegen/package.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace espalier::codegen {

/// What a CUDA kernel takes on an architecture, according to its assembler.
struct KernelResources {
    std::string kernel, architecture;
    std::int64_t registers = 0;     ///< of a thread
    std::int64_t spilled_bytes = 0; ///< that a thread writes because it has no more registers
    std::int64_t stack_bytes = 0;

    bool operator==(KernelResources const&) const = default;
};
/// From the messages of `ptxas -v`.
[[nodiscard]] std::vector<KernelResources> resources_in(std::string_view messages);

/// Compiles the kernels of a plan for all architectures that they fit, with the nvcc that is found here. Nothing if
/// there is none, or if it fails.
[[nodiscard]] std::vector<KernelResources> cuda_resources(GpuPlan const& plan, std::string const& name);
/// The folder of a program in CUDA C++, and with it resources.txt where nvcc is found.
[[nodiscard]] std::vector<TextFile> cuda_package_with_resources(Package const& package);

} // namespace espalier::codegen
