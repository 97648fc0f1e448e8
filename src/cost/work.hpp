#pragma once

#include "espalier/config/hardware_config.hpp"
#include "espalier/program/graph.hpp"

namespace espalier::cost {

/// What has to be computed, by the unit that does it.
struct Work {
    double matmul_flops = 0;
    double padded_flops = 0; ///< of matmuls whose operands are padded to the shape of an instruction
    double alone_flops = 0;  ///< the same when one block has a multiprocessor: units without a tile count as busy
    double other_flops = 0;
    double functions = 0; ///< results of exp, sqrt and the like; they are in no other number
    double shared_bytes = 0;
    std::int64_t product_elements = 0; ///< of the largest result of a matmul, padded: registers hold it

    Work& operator+=(Work const& other);
    /// As often; the largest result stays as large as it is.
    [[nodiscard]] Work times(double factor) const;
    /// As one block does it that has a multiprocessor to itself.
    [[nodiscard]] Work alone() const;
    [[nodiscard]] double flops() const { return matmul_flops + other_flops + functions; }
};

/// What one block does. Ops up to the accumulators are in the loop.
struct BlockWork {
    Work step; ///< of the loop
    Work once; ///< after the loop, and the tiles that are loaded before it
};

[[nodiscard]] double bytes_of(program::Shape const& shape, program::DType dtype);
[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Of each operand of an op of a graph of any level, by what the op means.
[[nodiscard]] std::vector<double> bytes_read(program::Graph const& graph, program::OpId op,
                                             program::TensorInfos const& tensors);
[[nodiscard]] double bytes_written(program::Graph const& graph, program::OpId op, program::TensorInfos const& tensors);

/// One op of a graph of any level, once; `shared_bytes` is what it reads and writes. An op defined by a thread graph
/// keeps what is inside in registers.
[[nodiscard]] Work work_of(program::Graph const& graph, program::OpId op, program::TensorInfos const& tensors,
                           config::HardwareConfig const& hardware);
/// With the tiles that are loaded, which go to shared memory.
[[nodiscard]] BlockWork work_of_block(program::Graph const& block, config::HardwareConfig const& hardware);

/// Microseconds of each unit. They work side by side: the slowest decides.
struct UnitTimes {
    double matmul_us = 0;
    double other_us = 0;
    double function_us = 0;
    double shared_us = 0;

    [[nodiscard]] double compute_us() const;
    [[nodiscard]] double slowest_us() const;
};
/// On the whole machine.
[[nodiscard]] UnitTimes times_of(Work const& work, program::DType dtype, config::HardwareConfig const& hardware);

} // namespace espalier::cost
