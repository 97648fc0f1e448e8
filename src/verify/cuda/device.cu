#include "launch.hpp"

namespace espalier::verify::cuda {
namespace {

constexpr int threads_a_block = 256;
constexpr std::int64_t max_blocks = 1024; ///< of one job's step; each takes further elements in strides

__global__ void run_step(JobOnDevice const* jobs, std::int32_t number) {
    auto const& job = jobs[blockIdx.y];
    if (number >= job.step_count) return;
    auto const& step = job.steps[number];
    auto const stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
    for (auto i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < step.count; i += stride)
        compute(step, job.view, i);
}

} // namespace

cudaError_t launch_step(JobsOnDevice const& jobs, std::int32_t number, std::int64_t count, cudaStream_t stream) {
    auto blocks = (count + threads_a_block - 1) / threads_a_block;
    if (blocks < 1) blocks = 1;
    if (blocks > max_blocks) blocks = max_blocks;
    dim3 const grid(static_cast<unsigned>(blocks), static_cast<unsigned>(jobs.count));
    run_step<<<grid, threads_a_block, 0, stream>>>(jobs.jobs, number);
    return cudaGetLastError();
}

} // namespace espalier::verify::cuda
