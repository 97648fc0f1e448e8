#include "espalier/cost/roofline.hpp"

#include "work.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
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

double to_us(base::Nanoseconds time) { return std::chrono::duration<double, std::micro>(time).count(); }
double rate_us(std::uint64_t bytes_per_s) { return static_cast<double>(bytes_per_s) / 1e6; }

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

double bytes_of_tensor(Graph const& graph, TensorInfo const& tensor) { return bytes_of(tensor.shape, graph.dtype); }

KernelCost finished(KernelCost cost, HardwareConfig const& hardware) {
    cost.launch_us = to_us(hardware.launch);
    cost.us = cost.launch_us + cost.sync_us + std::max({cost.memory_us, cost.compute_us, cost.shared_us});
    return cost;
}

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

KernelCost library_kernel(Graph const& graph, OpId op, TensorInfos const& tensors, HardwareConfig const& hardware) {
    KernelCost cost;
    cost.bytes = distinct_bytes_read(graph, op, tensors) + bytes_written(graph, op, tensors);
    auto const work = work_of(graph, op, tensors);
    cost.flops = work.flops();
    cost.memory_us = cost.bytes / rate_us(hardware.memory_bandwidth);
    cost.compute_us = compute_us(work, graph.dtype, hardware);
    return finished(cost, hardware);
}

/// What goes over the two levels of memory that blocks share.
struct Traffic {
    double memory_bytes = 0;
    double cache_bytes = 0;
};

/// One operand of a graph-defined kernel. Every byte comes from memory once; when it is read again, as likely as the
/// tensor fits into the cache it is still there.
Traffic traffic_of_operand(double tensor_bytes, double read_bytes, HardwareConfig const& hardware) {
    auto const again = std::max(0.0, read_bytes - tensor_bytes);
    auto const kept = std::min(1.0, static_cast<double>(hardware.l2) / tensor_bytes);
    return {tensor_bytes + again * (1 - kept), std::max(read_bytes, tensor_bytes)};
}

std::int64_t block_count(program::Schedule const& schedule) {
    return schedule.grid[0] * schedule.grid[1] * schedule.grid[2];
}

Traffic traffic_of_kernel(Graph const& graph, OpId op, TensorInfos const& tensors, HardwareConfig const& hardware) {
    auto const& kernel = graph.ops[op];
    auto const& block = graph.bodies[static_cast<std::size_t>(kernel.body)];
    auto const blocks = static_cast<double>(block_count(block.schedule));
    auto const written = bytes_written(graph, op, tensors);
    Traffic out{written, written};
    for (std::size_t j = 0; j < kernel.inputs.size(); ++j) {
        auto const steps = block.schedule.inputs[j].loop >= 0 ? static_cast<double>(block.schedule.loop) : 1.0;
        auto const whole = bytes_of_tensor(graph, tensors[kernel.inputs[j]]);
        auto const one =
            traffic_of_operand(whole, blocks * steps * bytes_of(block.inputs[j].shape, block.dtype), hardware);
        out.memory_bytes += one.memory_bytes;
        out.cache_bytes += one.cache_bytes;
    }
    return out;
}

/// Blocks that a multiprocessor holds at a time; 0 if it cannot hold one.
std::int64_t resident_blocks(std::int64_t shared_bytes, std::int64_t threads, HardwareConfig const& hardware) {
    if (shared_bytes > static_cast<std::int64_t>(hardware.block_shared_memory)) return 0;
    auto const by_memory = static_cast<std::int64_t>(hardware.shared_memory) / std::max<std::int64_t>(shared_bytes, 1);
    auto const by_threads = hardware.threads_per_multiprocessor / std::max<std::int64_t>(threads, 1);
    return std::min({by_memory, by_threads, static_cast<std::int64_t>(hardware.blocks_per_multiprocessor)});
}

void place_blocks(KernelCost& cost, program::Schedule const& schedule, HardwareConfig const& hardware) {
    auto const resident = resident_blocks(cost.shared_bytes, schedule.threads, hardware);
    auto const held = std::max<std::int64_t>(resident, 1);
    cost.fits = resident > 0;
    cost.waves = ceil_div(cost.blocks, hardware.multiprocessors * held);
    cost.occupancy =
        static_cast<double>(resident * schedule.threads) / static_cast<double>(hardware.threads_per_multiprocessor);
    cost.sync_us = static_cast<double>(cost.waves * schedule.loop) * to_us(hardware.step);
}

KernelCost graph_kernel(Graph const& graph, OpId op, TensorInfos const& tensors, HardwareConfig const& hardware) {
    auto const& block = graph.bodies[static_cast<std::size_t>(graph.ops[op].body)];
    KernelCost cost;
    cost.blocks = block_count(block.schedule);
    cost.shared_bytes = shared_memory_bytes(block);
    place_blocks(cost, block.schedule, hardware);

    auto const processors = static_cast<double>(hardware.multiprocessors);
    auto const traffic = traffic_of_kernel(graph, op, tensors, hardware);
    cost.bytes = traffic.memory_bytes;
    cost.memory_us = std::max(traffic.memory_bytes / rate_us(hardware.memory_bandwidth),
                              traffic.cache_bytes / rate_us(hardware.l2_bandwidth)) /
                     std::min(1.0, static_cast<double>(cost.blocks) / processors);

    auto const work = work_of_block(block);
    cost.flops = work.flops() * static_cast<double>(cost.blocks);
    // The busiest multiprocessor runs this many blocks; all run as many at the rates of the whole machine.
    auto const busiest = static_cast<double>(ceil_div(cost.blocks, hardware.multiprocessors));
    auto const all = work.times(busiest * processors);
    cost.compute_us = compute_us(all, block.dtype, hardware);
    cost.shared_us = all.shared_bytes / rate_us(hardware.shared_bandwidth);
    return finished(cost, hardware);
}

} // namespace

KernelCost estimate_kernel(Graph const& graph, OpId op, TensorInfos const& tensors, HardwareConfig const& hardware) {
    return graph.ops[op].code == OpCode::graph ? graph_kernel(graph, op, tensors, hardware)
                                               : library_kernel(graph, op, tensors, hardware);
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

double compulsory_bytes(Graph const& graph) {
    auto const tensors = infer(graph);
    auto const is_input = [&](TensorId id) { return tensors[id].maker == program::no_op; };
    program::TensorIds ids;
    for (auto const& op : graph.ops) std::ranges::copy_if(op.inputs, std::back_inserter(ids), is_input);
    std::ranges::copy_if(graph.outputs, std::back_inserter(ids), std::not_fn(is_input));
    double bytes = 0;
    for (auto const id : distinct(std::move(ids))) bytes += bytes_of_tensor(graph, tensors[id]);
    return bytes;
}

double lower_bound_us(double done_us, int kernels, double bytes, HardwareConfig const& hardware) {
    return done_us + kernels * to_us(hardware.launch) + bytes / rate_us(hardware.memory_bandwidth);
}

} // namespace espalier::cost
