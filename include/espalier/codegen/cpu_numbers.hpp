#pragma once

#include "espalier/codegen/plan.hpp"

namespace espalier::codegen {

/// What tile numbers are chosen for. Rates are those of one core; only their ratios matter.
struct CpuNumbers {
    CpuShape shape;
    int threads = 1;
    std::int64_t tile_bytes = 640 << 10; ///< of a block: most of a second-level cache
    double read_bytes_per_ns = 12;
    double cache_bytes_per_ns = 60;
    double multiply_adds_per_ns = 60;
    double step_ns = 150; ///< overhead of a step of a block's loop
};

/// The same program with grids and loops for a CPU instead of those that were searched for another machine: the form is
/// kept. Products that are library kernels become graph-defined kernels. What has no better numbers stays as it is.
[[nodiscard]] program::Graph for_cpu(program::Graph const& graph, CpuNumbers const& numbers);

/// What a block graph on operands of these shapes would take, in ns.
[[nodiscard]] double cpu_time_ns(program::Graph const& block, std::vector<program::Shape> const& operands,
                                 CpuNumbers const& numbers);

/// The plan of such a program; the inputs in `weights` that only products read are packed beforehand.
[[nodiscard]] Plan plan_for_cpu(program::Graph const& graph, std::vector<int> const& weights,
                                CpuNumbers const& numbers);

} // namespace espalier::codegen
