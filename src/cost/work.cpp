#include "work.hpp"

#include "espalier/program/meaning.hpp"

#include <algorithm>
#include <numeric>

namespace espalier::cost {
namespace {

using program::Access;
using program::Graph;
using program::OpCode;
using program::OpId;
using program::TensorInfos;

constexpr double tera_us = 1e6; // 10^12 a second are 10^6 a microsecond

program::Meaning meaning_of(Graph const& graph, OpId i, TensorInfos const& tensors) {
    auto const& op = graph.ops[i];
    std::vector<program::Shape> shapes;
    for (auto const id : op.inputs) shapes.push_back(tensors[id].shape);
    return program::meaning_of(info(op.code),
                               {shapes, op.attributes, op.attributes.whole(program::AttributeName::size, 0), 1});
}

/// Arithmetic of an op of the table. Units but those of products do a product and its sum as one.
Work arithmetic_of(program::OpInfo const& row, program::Meaning const& meaning) {
    auto const count = count_of(meaning);
    if (row.field.access == Access::contraction) return {.matmul_flops = count.flops};
    return {.other_flops = count.flops - count.fused, .functions = count.functions};
}

std::vector<double> bytes_read(program::Op const& op, program::Meaning const& meaning, program::DType dtype) {
    std::vector<double> out;
    for (std::size_t i = 0; i < op.inputs.size(); ++i)
        out.push_back(elements_read(meaning, i) * static_cast<double>(info(dtype).size_bytes));
    return out;
}

/// Of an op that a thread graph defines: its arithmetic.
Work work_of_body(Graph const& body) {
    auto const tensors = infer(body);
    Work out;
    for (auto const i : body.ops.ids()) out += arithmetic_of(info(body.ops[i].code), meaning_of(body, i, tensors));
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

std::vector<double> bytes_read(Graph const& graph, OpId op, TensorInfos const& tensors) {
    auto const& one = graph.ops[op];
    if (one.code != OpCode::graph) return bytes_read(one, meaning_of(graph, op, tensors), graph.dtype);
    std::vector<double> out;
    for (auto const id : one.inputs) out.push_back(bytes_of(tensors[id].shape, graph.dtype));
    return out;
}

double bytes_written(Graph const& graph, OpId op, TensorInfos const& tensors) {
    double bytes = 0;
    for (auto const& one : tensors)
        if (one.maker == op) bytes += bytes_of(one.shape, graph.dtype);
    return bytes;
}

Work work_of(Graph const& graph, OpId op, TensorInfos const& tensors) {
    auto const& one = graph.ops[op];
    Work work;
    std::vector<double> read;
    if (one.code == OpCode::graph) {
        work = work_of_body(graph.bodies[static_cast<std::size_t>(one.body)]);
        read = bytes_read(graph, op, tensors);
    } else {
        auto const meaning = meaning_of(graph, op, tensors);
        work = arithmetic_of(info(one.code), meaning);
        read = bytes_read(one, meaning, graph.dtype);
    }
    work.shared_bytes = std::accumulate(read.begin(), read.end(), bytes_written(graph, op, tensors));
    return work;
}

Work work_of_block(Graph const& block) {
    auto const tensors = infer(block);
    auto const in_loop = work_in_loop(block, tensors).ops;
    auto const steps = static_cast<double>(block.schedule.loop);
    Work out;
    for (auto const i : block.ops.ids()) out += work_of(block, i, tensors).times(in_loop[i] ? steps : 1);
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
