#include "work.hpp"

#include "espalier/program/meaning.hpp"
#include "products.hpp"

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

bool is_product(program::Op const& op) { return info(op.code).field.access == Access::contraction; }

/// Arithmetic of an op of the table. Units but those of products do a product and its sum as one.
Work arithmetic_of(program::Op const& op, program::Meaning const& meaning) {
    auto const count = count_of(meaning);
    if (is_product(op)) return {.matmul_flops = count.flops};
    return {.other_flops = count.flops - count.fused, .functions = count.functions};
}

std::vector<double> bytes_read(program::Op const& op, program::Meaning const& meaning, program::DType dtype) {
    std::vector<double> out;
    for (std::size_t i = 0; i < op.inputs.size(); ++i)
        out.push_back(elements_read(meaning, i) * static_cast<double>(info(dtype).size_bytes));
    return out;
}

double sum_of(std::vector<double> const& list) { return std::accumulate(list.begin(), list.end(), 0.0); }

/// Of an op that a thread graph defines: its arithmetic.
Work work_of_body(Graph const& body) {
    auto const tensors = infer(body);
    Work out;
    for (auto const i : body.ops.ids()) out += arithmetic_of(body.ops[i], meaning_of(body, i, tensors));
    return out;
}

} // namespace

Work& Work::operator+=(Work const& other) {
    matmul_flops += other.matmul_flops;
    padded_flops += other.padded_flops;
    alone_flops += other.alone_flops;
    other_flops += other.other_flops;
    functions += other.functions;
    shared_bytes += other.shared_bytes;
    product_elements = std::max(product_elements, other.product_elements);
    return *this;
}

Work Work::times(double factor) const {
    return {matmul_flops * factor, padded_flops * factor, alone_flops * factor, other_flops * factor,
            functions * factor,    shared_bytes * factor, product_elements};
}

Work Work::alone() const {
    auto out = *this;
    out.padded_flops = alone_flops;
    return out;
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

Work work_of(Graph const& graph, OpId op, TensorInfos const& tensors, config::HardwareConfig const& hardware) {
    auto const& one = graph.ops[op];
    auto const written = bytes_written(graph, op, tensors);
    Work work;
    if (one.code == OpCode::graph) {
        work = work_of_body(graph.bodies[static_cast<std::size_t>(one.body)]);
        work.shared_bytes = sum_of(bytes_read(graph, op, tensors)) + written;
        return work;
    }
    auto const meaning = meaning_of(graph, op, tensors);
    work = arithmetic_of(one, meaning);
    if (is_product(one)) {
        auto const products = products_of(graph, op, tensors, hardware);
        work.padded_flops = products.padded_flops;
        work.alone_flops = products.alone_flops;
        work.shared_bytes = products.operand_bytes + written;
        work.product_elements = products.elements;
    } else {
        work.shared_bytes = sum_of(bytes_read(one, meaning, graph.dtype)) + written;
    }
    return work;
}

BlockWork work_of_block(Graph const& block, config::HardwareConfig const& hardware) {
    auto const tensors = infer(block);
    auto const in_loop = work_in_loop(block, tensors).ops;
    BlockWork out;
    for (auto const i : block.ops.ids()) (in_loop[i] ? out.step : out.once) += work_of(block, i, tensors, hardware);
    for (std::size_t j = 0; j < block.inputs.size(); ++j)
        (block.schedule.inputs[j].loop >= 0 ? out.step : out.once).shared_bytes +=
            bytes_of(block.inputs[j].shape, block.dtype);
    return out;
}

double UnitTimes::compute_us() const { return std::max({matmul_us, other_us, function_us}); }
double UnitTimes::slowest_us() const { return std::max(compute_us(), shared_us); }

UnitTimes times_of(Work const& work, program::DType dtype, config::HardwareConfig const& hardware) {
    return {work.padded_flops / (hardware.matmul_tflops.of(dtype) * tera_us),
            work.other_flops / (hardware.pointwise_tflops.of(dtype) * tera_us),
            work.functions / (hardware.function_tops * tera_us),
            work.shared_bytes / (static_cast<double>(hardware.shared_bandwidth) / tera_us)};
}

} // namespace espalier::cost
