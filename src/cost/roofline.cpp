#include "espalier/cost/roofline.hpp"

#include "graph_kernel.hpp"
#include "rates.hpp"
#include "work.hpp"

#include <algorithm>
#include <map>

namespace espalier::cost {
namespace {

using config::HardwareConfig;
using program::Graph;
using program::OpCode;
using program::OpId;
using program::TensorId;
using program::TensorInfo;
using program::TensorInfos;

double bytes_of_tensor(Graph const& graph, TensorInfo const& tensor) { return bytes_of(tensor.shape, graph.dtype); }

program::TensorIds distinct(program::TensorIds ids) {
    std::ranges::sort(ids);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
}

/// Operands that are the same tensor are read once.
double distinct_bytes_read(Graph const& graph, OpId op, TensorInfos const& tensors) {
    auto const bytes = bytes_read(graph, op, tensors);
    std::map<TensorId, double> most;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        auto& one = most[graph.ops[op].inputs[i]];
        one = std::max(one, bytes[i]);
    }
    double out = 0;
    for (auto const& [id, one] : most) out += one;
    return out;
}

/// As good as a library can be: no tile is read twice, no multiprocessor waits for another.
KernelCost library_kernel(Graph const& graph, OpId op, TensorInfos const& tensors, HardwareConfig const& hardware) {
    auto const work = work_of(graph, op, tensors, hardware);
    auto const times = times_of(work, graph.dtype, hardware);
    KernelCost cost;
    cost.bytes = distinct_bytes_read(graph, op, tensors) + bytes_written(graph, op, tensors);
    cost.cache_bytes = cost.bytes;
    cost.flops = work.flops();
    cost.padded_flops = cost.flops + work.padded_flops - work.matmul_flops;
    cost.parts = {.device_us = cost.bytes / rate_us(hardware.memory_bandwidth),
                  .cache_us = cost.bytes / rate_us(hardware.l2_bandwidth),
                  .matmul_us = times.matmul_us,
                  .other_us = times.other_us,
                  .function_us = times.function_us};
    cost.busy_us = std::max(cost.parts.device_us, times.compute_us());
    cost.latency_us = to_us(hardware.latency);
    cost.us = cost.busy_us + cost.latency_us;
    return cost;
}

} // namespace

KernelCost estimate_kernel(Graph const& graph, OpId op, TensorInfos const& tensors, HardwareConfig const& hardware) {
    if (is_view(info(graph.ops[op].code))) return {};
    auto cost = graph.ops[op].code == OpCode::graph ? GraphKernel(graph, op, tensors, hardware).cost()
                                                    : library_kernel(graph, op, tensors, hardware);
    auto const& parts = cost.parts;
    cost.memory_us = std::max(parts.device_us, parts.cache_us);
    cost.compute_us = std::max({parts.matmul_us, parts.other_us, parts.function_us});
    cost.launch_us = to_us(hardware.launch);
    cost.us += cost.launch_us;
    return cost;
}

ProgramCost estimate(Graph const& graph, HardwareConfig const& hardware) {
    auto const tensors = infer(graph);
    ProgramCost out;
    for (auto const op : graph.ops.ids()) {
        auto const cost = estimate_kernel(graph, op, tensors, hardware);
        out.us += cost.us;
        out.fits = out.fits && cost.fits;
        out.kernels.push_back(cost);
    }
    return out;
}

namespace {

/// The tensor that a view looks at.
TensorId viewed(Graph const& graph, TensorInfos const& tensors, TensorId id) {
    while (tensors[id].maker != program::no_op && is_view(info(graph.ops[tensors[id].maker].code)))
        id = graph.ops[tensors[id].maker].inputs[0];
    return id;
}

bool takes_part(program::Op const& op) {
    auto const& rule = info(op.code).field;
    return rule.access == program::Access::rearrange && rule.move == program::Move::slice;
}

} // namespace

/// Where a slice is taken, a part of an input may be all that is needed.
double compulsory_bytes(Graph const& graph) {
    auto const tensors = infer(graph);
    auto const needs_whole = std::ranges::none_of(graph.ops, takes_part);
    program::TensorIds ids;
    for (auto const& op : graph.ops)
        for (auto const operand : op.inputs) {
            auto const id = viewed(graph, tensors, operand);
            if (tensors[id].maker == program::no_op && needs_whole && !is_view(info(op.code))) ids.push_back(id);
        }
    for (auto const output : graph.outputs) {
        auto const id = viewed(graph, tensors, output);
        if (tensors[id].maker != program::no_op) ids.push_back(id);
    }
    double bytes = 0;
    for (auto const id : distinct(std::move(ids))) bytes += bytes_of_tensor(graph, tensors[id]);
    return bytes;
}

double lower_bound_us(double done_us, int kernels, double bytes, HardwareConfig const& hardware) {
    return done_us + kernels * (to_us(hardware.launch) + to_us(hardware.latency)) +
           bytes / rate_us(hardware.memory_bandwidth);
}

} // namespace espalier::cost
