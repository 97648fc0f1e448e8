#include "espalier/cost/explain.hpp"

#include "rates.hpp"

#include "espalier/base/units.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace espalier::cost {
namespace {

using config::HardwareConfig;
using program::Graph;
using program::OpId;

/// What a kernel uses, with the time it takes.
struct Part {
    std::string_view name;
    double us;
    std::string about = {};
};

std::string line(std::string_view name, double us, std::string_view about) {
    auto const text = fmt::format("  {:<26}{:>10.3f} us  {}", name, us, about);
    return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
}
std::string fact(std::string_view name, std::string_view about) { return fmt::format("  {:<41}{}\n", name, about); }

std::string shape_text(config::MatmulShape const& shape) { return fmt::format("{}x{}x{}", shape.m, shape.n, shape.k); }

std::string matmul_about(KernelCost const& cost, program::DType dtype, HardwareConfig const& hardware) {
    if (cost.parts.matmul_us == 0) return {};
    return fmt::format("{} operations in all, {} with padding to {}", base::human_count(cost.flops),
                       base::human_count(cost.padded_flops), shape_text(hardware.matmul_shape.of(dtype)));
}

std::string cache_about(KernelCost const& cost) {
    if (cost.cache_bytes == 0) return {};
    return fmt::format("{} in sectors, {:.0f} % wasted", base::human_bytes(cost.cache_bytes),
                       100 * cost.wasted_bytes / cost.cache_bytes);
}

std::array<Part, 7> parts_of(KernelCost const& cost, program::DType dtype, HardwareConfig const& hardware) {
    auto const& parts = cost.parts;
    return {
        {{"device memory", parts.device_us, base::human_bytes(cost.bytes)},
         {"last-level cache", parts.cache_us, cache_about(cost)},
         {"shared memory", parts.shared_us,
          cost.shared_traffic > 0 ? base::human_bytes(cost.shared_traffic) : std::string()},
         {"matmuls", parts.matmul_us, matmul_about(cost, dtype, hardware)},
         {"other arithmetic", parts.other_us},
         {"functions", parts.function_us},
         {"steps of the loop", parts.steps_us, parts.steps_us > 0 ? "on top of the slowest of the four above" : ""}}};
}

/// The word for what bounds a kernel: with less of it, the kernel would be faster.
std::string_view bound_of(KernelCost const& cost, std::span<Part const> parts) {
    if (cost.launch_us > cost.us - cost.launch_us) return "its launch";
    if (cost.waiting_us + cost.latency_us > cost.busy_us) return "latency";
    auto const units_us = std::max(cost.parts.shared_us, cost.compute_us) + cost.parts.steps_us;
    auto const side = cost.memory_us > units_us ? parts.first(2) : parts.subspan(2);
    return std::ranges::max_element(side, {}, &Part::us)->name;
}

std::string_view limit_word(Limit limit) {
    constexpr std::array<std::string_view, 4> words{"the number of blocks", "threads", "shared memory", "registers"};
    return words[static_cast<std::size_t>(limit)];
}

std::string blocks_text(Running const& running, HardwareConfig const& hardware) {
    auto const places = hardware.multiprocessors * std::max<std::int64_t>(running.resident, 1);
    return fact("blocks", fmt::format("{} in {} wave{}, {} of {} places taken in the last", running.blocks,
                                      running.waves, running.waves == 1 ? "" : "s", running.last_wave, places)) +
           fact("resident on a multiprocessor",
                fmt::format("{}, limited by {}; {:.0f} % of its threads", running.resident, limit_word(running.limit),
                            100 * running.occupancy)) +
           fact("shared memory of a block",
                fmt::format("{}{}", base::human_bytes(static_cast<double>(running.shared_bytes)),
                            running.is_buffered ? ", with a second buffer for the loop" : ""));
}

std::string registers_text(Running const& running, HardwareConfig const& hardware) {
    if (hardware.registers == 0) return {};
    return fact("registers of a thread",
                fmt::format("{:.0f}{}", running.registers,
                            running.spilled > 0 ? fmt::format(", {:.0f} more are spilled", running.spilled) : ""));
}

std::string flight_text(KernelCost const& cost, HardwareConfig const& hardware) {
    auto const needed = to_us(hardware.latency) * rate_us(hardware.memory_bandwidth);
    return fact("bytes in flight", fmt::format("{}; {} keep device memory busy",
                                               base::human_bytes(cost.in_flight_bytes), base::human_bytes(needed)));
}

std::string title(Graph const& graph, OpId op) {
    auto const& one = graph.ops[op];
    if (one.code != program::OpCode::graph) return fmt::format("{}, a library kernel", info(one.code).name);
    auto const& schedule = graph.bodies[static_cast<std::size_t>(one.body)].schedule;
    return fmt::format("grid [{}], loop {}, {} threads", fmt::join(schedule.grid, ", "), schedule.loop,
                       schedule.threads);
}

std::string times_text(KernelCost const& cost, std::span<Part const> parts) {
    auto text =
        line("launch", cost.launch_us, "1 kernel") + line("busy", cost.busy_us, "the slowest, wave by wave, of");
    for (auto const& part : parts) text += line(fmt::format("  . {}", part.name), part.us, part.about);
    text += line("latency", cost.latency_us, "of loads that nothing hides");
    if (cost.running.blocks == 0) return text;
    return text + line("start and end", cost.exposed_us, "loads and steps without anything to overlap with") +
           line("waiting", cost.waiting_us, fmt::format("a block by itself takes {:.3f} us", cost.block_us));
}

std::string kernel_text(Graph const& graph, OpId op, KernelCost const& cost, HardwareConfig const& hardware) {
    if (is_view(info(graph.ops[op].code)))
        return fmt::format("{}: not a kernel, but another view of the same values\n", info(graph.ops[op].code).name);
    auto const parts = parts_of(cost, graph.dtype, hardware);
    auto text = fmt::format("kernel {}: {}; bound by {}{}\n", op.value + 1, title(graph, op), bound_of(cost, parts),
                            cost.fits ? "" : "; NO multiprocessor can hold a block");
    text += times_text(cost, parts) + line("sum", cost.us, "");
    if (cost.running.blocks == 0) return text;
    return text + blocks_text(cost.running, hardware) + registers_text(cost.running, hardware) +
           flight_text(cost, hardware);
}

} // namespace

std::string explain(Graph const& graph, HardwareConfig const& hardware) {
    auto const cost = estimate(graph, hardware);
    std::string text;
    for (auto const op : graph.ops.ids())
        text += kernel_text(graph, op, cost.kernels[static_cast<std::size_t>(op.value)], hardware) + "\n";
    return text +
           fmt::format("{} kernel{}: {:.3f} us\n", kernel_count(graph), kernel_count(graph) == 1 ? "" : "s", cost.us);
}

} // namespace espalier::cost
