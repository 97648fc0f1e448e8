#pragma once

#include "espalier/codegen/gpu_plan.hpp"
#include "espalier/codegen/package.hpp"

namespace espalier::codegen {

/// Folders like the CPU's: `sh build` compiles, `./bench` checks and measures. The kernels are the same text.
/// Throws InputError if a kernel of CUDA takes more shared memory than any architecture has.
[[nodiscard]] std::vector<TextFile> opencl_package(Package const& package);
[[nodiscard]] std::vector<TextFile> cuda_package(Package const& package);

/// An architecture that CUDA text is compiled for, and how much a group may have there.
struct CudaArchitecture {
    std::string_view name;
    std::int64_t shared_bytes = 0;
};
/// Operands may take all the shared memory that every architecture has.
[[nodiscard]] GpuOptions cuda_options();
[[nodiscard]] std::vector<CudaArchitecture> cuda_architectures(GpuPlan const& plan);

} // namespace espalier::codegen
