#pragma once

#include "espalier/config/hardware_config.hpp"
#include "espalier/program/graph.hpp"

#include <cstdint>
#include <vector>

/// What a program costs on a machine, from its shapes alone: launch + max(memory, compute, shared memory) per kernel.
///
/// A library kernel reads its operands and writes its results once and uses the whole machine. A graph-defined kernel
/// of B blocks on P multiprocessors, R of them resident on each:
///   total   = every tile that every block reads, step by step of the loop, and the outputs
///   bytes   = each tensor once, and of repeated reads of it the share that does not fit into the last-level cache
///   memory  = max(bytes / memory bandwidth, total / cache bandwidth) / min(1, B / P)
///   compute = the blocks of the busiest multiprocessor, ceil(B / P), at its share 1 / P of the rates
///   shared  = likewise: every tile is written once, read by each of its readers
///   sync    = ceil(B / (P R)) waves x steps of the loop x time of a step
/// Matmuls, other arithmetic and functions have rates of their own and overlap. Deterministic; on one grid more bytes
/// or operations never cost less, and a faster machine never costs more.
namespace espalier::cost {

struct KernelCost {
    double us = 0; ///< launch + sync + max(memory, compute, shared)
    double launch_us = 0;
    double sync_us = 0;
    double memory_us = 0;
    double compute_us = 0;
    double shared_us = 0;
    double bytes = 0; ///< to and from device memory
    double flops = 0;
    double occupancy = 1;    ///< threads that are resident / threads that a multiprocessor holds
    std::int64_t blocks = 0; ///< 0: a library kernel
    std::int64_t waves = 1;
    std::int64_t shared_bytes = 0; ///< per block
    bool fits = true;              ///< false: no multiprocessor can hold a block; the rest is then as if one could

    bool operator==(KernelCost const&) const = default;
};

struct ProgramCost {
    double us = 0;
    std::vector<KernelCost> kernels;
    bool fits = true;

    bool operator==(ProgramCost const&) const = default;
};

/// Of a kernel graph. Throws InputError if the graph is not well formed.
[[nodiscard]] ProgramCost estimate(program::Graph const& graph, config::HardwareConfig const& hardware);
/// Of one of its ops; `tensors` is infer(graph).
[[nodiscard]] KernelCost estimate_kernel(program::Graph const& graph, program::OpId op,
                                         program::TensorInfos const& tensors, config::HardwareConfig const& hardware);

/// Every used input read once and every output written once: no program with these does less.
[[nodiscard]] double compulsory_bytes(program::Graph const& graph);
/// No program that has kernels of `done_us` in sum, and at least `kernels` more that read and write at least `bytes`,
/// costs less.
[[nodiscard]] double lower_bound_us(double done_us, int kernels, double bytes, config::HardwareConfig const& hardware);

} // namespace espalier::cost
