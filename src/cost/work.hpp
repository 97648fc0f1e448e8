#pragma once

#include "espalier/config/hardware_config.hpp"
#include "espalier/program/graph.hpp"

namespace espalier::cost {

/// What has to be computed, by the unit that does it.
struct Work {
    double matmul_flops = 0;
    double other_flops = 0;
    double functions = 0; ///< results of exp, sqrt and the like; they are in no other number
    double shared_bytes = 0;

    Work& operator+=(Work const& other);
    [[nodiscard]] Work times(double factor) const;
    [[nodiscard]] double flops() const { return matmul_flops + other_flops + functions; }
};

[[nodiscard]] double bytes_of(program::Shape const& shape, program::DType dtype);

/// Of each operand of an op of a graph of any level, by what the op means.
[[nodiscard]] std::vector<double> bytes_read(program::Graph const& graph, program::OpId op,
                                             program::TensorInfos const& tensors);
[[nodiscard]] double bytes_written(program::Graph const& graph, program::OpId op, program::TensorInfos const& tensors);

/// One op of a graph of any level, once; `shared_bytes` is what it reads and writes. An op defined by a thread graph
/// keeps what is inside in registers.
[[nodiscard]] Work work_of(program::Graph const& graph, program::OpId op, program::TensorInfos const& tensors);
/// All that one block does: ops in the loop at every step, the others once, and the tiles that are loaded.
[[nodiscard]] Work work_of_block(program::Graph const& block);

/// On the whole machine. The units work side by side: the slowest decides.
[[nodiscard]] double compute_us(Work const& work, program::DType dtype, config::HardwareConfig const& hardware);

} // namespace espalier::cost
