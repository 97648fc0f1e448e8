#include "work.hpp"

#include <algorithm>

namespace espalier::cost {
namespace {

using program::Access;
using program::Graph;
using program::OpCode;
using program::TensorInfo;

constexpr double tera_us = 1e6; // 10^12 a second are 10^6 a microsecond

bool is_function(program::OpInfo const& op) {
    using field::Scalar;
    auto const scalar = op.field.scalar;
    return is_pointwise(op) && (scalar == Scalar::exp || scalar == Scalar::sqrt || scalar == Scalar::function);
}

TensorInfo const& tensor(std::span<TensorInfo const> tensors, int id) { return tensors[static_cast<std::size_t>(id)]; }

/// Bytes of the operands and results.
double traffic_of(Graph const& graph, std::size_t op, std::span<TensorInfo const> tensors) {
    double bytes = 0;
    for (auto const id : graph.ops[op].inputs) bytes += bytes_of(tensor(tensors, id).shape, graph.dtype);
    for (auto const& one : tensors)
        if (one.maker == static_cast<int>(op)) bytes += bytes_of(one.shape, graph.dtype);
    return bytes;
}

/// Arithmetic of an op of the table.
Work arithmetic_of(Graph const& graph, std::size_t i, std::span<TensorInfo const> tensors) {
    auto const& op = graph.ops[i];
    auto const& row = info(op.code);
    std::vector<program::Shape> shapes;
    for (auto const id : op.inputs) shapes.push_back(tensor(tensors, id).shape);
    auto const out = std::ranges::find(tensors, static_cast<int>(i), &TensorInfo::maker)->shape;
    if (is_function(row)) return {.functions = static_cast<double>(element_count(out))};
    auto const size = op.attributes.whole(program::AttributeName::size, 0);
    auto const flops = row.flops({shapes, op.attributes, size, graph.schedule.loop}, out);
    if (row.field.access == Access::contraction) return {.matmul_flops = flops};
    return {.other_flops = flops};
}

/// Of an op that a thread graph defines: its arithmetic.
Work work_of_body(Graph const& body) {
    auto const tensors = infer(body);
    Work out;
    for (std::size_t i = 0; i < body.ops.size(); ++i) out += arithmetic_of(body, i, tensors);
    return out;
}

} // namespace

Work& Work::operator+=(Work const& other) {
    matmul_flops += other.matmul_flops;
    other_flops += other.other_flops;
    functions += other.functions;
    shared_bytes += other.shared_bytes;
    return *this;
}

Work Work::times(double factor) const {
    return {matmul_flops * factor, other_flops * factor, functions * factor, shared_bytes * factor};
}

double bytes_of(program::Shape const& shape, program::DType dtype) {
    return static_cast<double>(element_count(shape)) * static_cast<double>(info(dtype).size_bytes);
}

Work work_of(Graph const& graph, std::size_t op, std::span<TensorInfo const> tensors) {
    auto const& one = graph.ops[op];
    auto work = one.code == OpCode::graph ? work_of_body(graph.bodies[static_cast<std::size_t>(one.body)])
                                          : arithmetic_of(graph, op, tensors);
    work.shared_bytes = traffic_of(graph, op, tensors);
    return work;
}

Work work_of_block(Graph const& block) {
    auto const tensors = infer(block);
    auto const steps = static_cast<double>(block.schedule.loop);
    Work out;
    for (std::size_t i = 0; i < block.ops.size(); ++i) {
        auto const& operands = block.ops[i].inputs;
        auto const is_in_loop = operands.empty() || !tensor(tensors, operands.front()).is_after_loop;
        out += work_of(block, i, tensors).times(is_in_loop ? steps : 1);
    }
    for (std::size_t j = 0; j < block.inputs.size(); ++j)
        out.shared_bytes +=
            bytes_of(block.inputs[j].shape, block.dtype) * (block.schedule.inputs[j].loop >= 0 ? steps : 1);
    return out;
}

double compute_us(Work const& work, program::DType dtype, config::HardwareConfig const& hardware) {
    return std::max({work.matmul_flops / (hardware.matmul_tflops.of(dtype) * tera_us),
                     work.other_flops / (hardware.pointwise_tflops.of(dtype) * tera_us),
                     work.functions / (hardware.function_tops * tera_us)});
}

} // namespace espalier::cost
