#pragma once

#include "espalier/config/hardware_config.hpp"
#include "espalier/program/graph.hpp"

#include <cstdint>
#include <vector>

/// What a program costs on a machine, from its shapes alone. Estimates for ranking, not measurements;
/// src/cost/README.md has the formulas.
///
/// A library kernel reads its operands and writes its results once and uses the whole machine. A graph-defined kernel
/// runs in waves of blocks. A wave takes as long as the slowest resource that its blocks share (device memory, cache,
/// shared memory, units), plus the parts of its start and end that nothing else hides; or as long as one block takes by
/// itself, if that is longer. Deterministic; with as many resident blocks more bytes or operations never cost less, and
/// a faster machine never costs more.
namespace espalier::cost {

/// What keeps more blocks from being resident on a multiprocessor.
enum class Limit : std::uint8_t { blocks, threads, shared_memory, registers };

/// How the blocks of a graph-defined kernel run.
struct Running {
    std::int64_t blocks = 0;   ///< 0: a library kernel
    std::int64_t resident = 1; ///< on a multiprocessor at a time; 0: none fits
    Limit limit = Limit::blocks;
    std::int64_t waves = 1;
    std::int64_t last_wave = 0;    ///< blocks of it
    double occupancy = 1;          ///< threads that are resident / threads that a multiprocessor holds
    bool is_buffered = false;      ///< tiles of the next step are loaded while this one is computed
    std::int64_t shared_bytes = 0; ///< of a block, with what buffers take
    double registers = 0;          ///< of a thread
    double spilled = 0;            ///< registers that a thread would need but does not have

    bool operator==(Running const&) const = default;
};

/// Time by resource, each as if it were the only one.
struct PartTimes {
    double device_us = 0;
    double cache_us = 0;
    double shared_us = 0;
    double matmul_us = 0;
    double other_us = 0; ///< arithmetic but matmuls
    double function_us = 0;
    double steps_us =
        0; ///< synchronising at the steps of loops: comes on top of the slowest of shared memory and units

    bool operator==(PartTimes const&) const = default;
};

struct KernelCost {
    double us = 0; ///< launch + busy + latency + exposed + waiting
    double launch_us = 0;
    double busy_us = 0;    ///< over all waves, the slowest of the parts
    double latency_us = 0; ///< of loads that nothing hides
    double exposed_us = 0; ///< first loads and last steps, which have nothing to overlap with
    double waiting_us = 0; ///< beyond that: a block by itself takes so long, step after step

    PartTimes parts;
    double memory_us = 0;       ///< the larger of device memory and cache
    double compute_us = 0;      ///< the largest of matmuls, other arithmetic and functions
    double block_us = 0;        ///< of a block by itself
    double bytes = 0;           ///< to and from device memory
    double cache_bytes = 0;     ///< that the last-level cache moves, in whole sectors
    double wasted_bytes = 0;    ///< of these, bytes that nobody asked for
    double shared_traffic = 0;  ///< bytes
    double in_flight_bytes = 0; ///< that the blocks of a wave have asked for at a time
    double flops = 0;
    double padded_flops = 0; ///< with the padding of matmuls
    Running running;
    bool fits = true; ///< false: no multiprocessor can hold a block; the rest is then as if one could

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
/// costs less: each is launched and waits for memory once.
[[nodiscard]] double lower_bound_us(double done_us, int kernels, double bytes, config::HardwareConfig const& hardware);

} // namespace espalier::cost
