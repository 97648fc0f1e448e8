#pragma once

#include "bodies.hpp"

#include <cuda_runtime.h>

#include <cstddef>

namespace espalier::verify::cuda {

/// All pointers are the device's.
struct JobOnDevice {
    LoweredStep const* steps = nullptr;
    std::int32_t step_count = 0;
    JobView view;
};
struct JobsOnDevice {
    JobOnDevice const* jobs = nullptr;
    std::size_t count = 0;
};

/// Starts step `number` of all jobs that have it; the longest result has `count` elements.
[[nodiscard]] cudaError_t launch_step(JobsOnDevice const& jobs, std::int32_t number, std::int64_t count,
                                      cudaStream_t stream);

} // namespace espalier::verify::cuda
