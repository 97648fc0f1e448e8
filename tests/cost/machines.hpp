#pragma once

#include "espalier/cost/roofline.hpp"

#include "support/programs.hpp"

/// Machines and kernels whose costs can be worked out by hand.
namespace espalier::cost {

using config::HardwareConfig;
using program::Graph;
using program::OpCode;
using programs::GraphBuilder;

inline HardwareConfig const& a100() { return *config::find_hardware("a100"); }

/// Two multiprocessors; a microsecond moves 1000 bytes of memory or 1000 operations. Without latency, sectors, padding,
/// banks and limits of registers: a test adds what it is about.
inline HardwareConfig toy() {
    return {.name = "toy",
            .launch = std::chrono::microseconds(10),
            .step = std::chrono::microseconds(1),
            .memory_bandwidth = 1'000'000'000,
            .l2_bandwidth = 2'000'000'000,
            .l2 = 1 << 20,
            .shared_bandwidth = 4'000'000'000,
            .matmul_tflops = {.f16 = 1e-3, .bf16 = 1e-3, .f32 = 5e-4, .f64 = 5e-4},
            .pointwise_tflops = {.f16 = 1e-3, .bf16 = 1e-3, .f32 = 1e-3, .f64 = 1e-3},
            .function_tops = 1e-4,
            .multiprocessors = 2,
            .shared_memory = 128,
            .block_shared_memory = 64,
            .threads_per_multiprocessor = 512,
            .blocks_per_multiprocessor = 32};
}

/// The toy with everything that the other one leaves out.
inline HardwareConfig strict() {
    auto out = toy();
    out.latency = std::chrono::nanoseconds(500);
    out.l2_access = 16;
    out.sector = 8;
    out.shared_banks = 32;
    out.matmul_shape = {{4, 2, 4}, {4, 2, 4}, {1, 1, 1}, {2, 2, 2}};
    out.matmul_units = 2;
    out.registers = 16384;
    out.thread_registers = 64;
    return out;
}

inline KernelCost only_kernel(Graph const& graph, HardwareConfig const& hardware) {
    return estimate(graph, hardware).kernels.at(0);
}

/// exp(X) of n x 4 elements, a row per block.
inline Graph exp_by_rows(std::int64_t rows, std::int64_t threads = 128) {
    GraphBuilder block(
        {.grid = {rows, 1, 1}, .threads = threads, .inputs = {{{0, -1, -1}, -1}}, .output = {0, -1, -1}});
    auto const tile = block.input({1, 4});
    auto const body = block.build({block.op(OpCode::exp, {tile})});
    GraphBuilder kernel;
    auto const x = kernel.input({rows, 4}, "X");
    return kernel.build({kernel.graph(body, {x})});
}

} // namespace espalier::cost
