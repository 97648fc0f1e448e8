#include "graph_kernel.hpp"

#include "rates.hpp"
#include "residency.hpp"

#include <algorithm>

namespace espalier::cost {

GraphKernel::GraphKernel(program::Graph const& graph, program::OpId op, program::TensorInfos const& tensors,
                         config::HardwareConfig const& hardware)
    : block_(graph.bodies[static_cast<std::size_t>(graph.ops[op].body)]), hardware_(hardware),
      traffic_(traffic_of(graph, op, tensors, hardware)), work_(work_of_block(block_, hardware)),
      shared_bytes_(shared_memory_bytes(block_)), processors_(hardware.multiprocessors),
      port_(rate_us(hardware.l2_bandwidth) / processors_), steps_(static_cast<double>(block_.schedule.loop)) {
    auto const threads = block_.schedule.threads;
    for (std::size_t j = 0; j < block_.inputs.size(); ++j)
        if (block_.schedule.inputs[j].loop >= 0)
            loop_bytes_ += element_count(block_.inputs[j].shape) * info(block_.dtype).size_bytes;
    auto const elements = std::max(work_.step.product_elements, work_.once.product_elements);
    registers_ = registers_wanted(elements, threads, block_.dtype);
    // Values that do not fit into registers are written and read again at every step.
    auto const spilled = std::max(0.0, registers_ - registers_given(threads, hardware));
    work_.step.shared_bytes += 2 * 4 * spilled * static_cast<double>(threads);
    whole_ = work_.step.times(steps_);
    whole_ += work_.once;
}

std::int64_t GraphKernel::blocks() const {
    auto const& grid = block_.schedule.grid;
    return grid[0] * grid[1] * grid[2];
}

UnitTimes GraphKernel::times(Work const& work) const {
    return times_of(work.times(processors_), block_.dtype, hardware_);
}

bool GraphKernel::has_second_buffer() const {
    auto const bytes = shared_bytes_ + loop_bytes_;
    return block_.schedule.loop > 1 && bytes <= static_cast<std::int64_t>(hardware_.block_shared_memory);
}

Running GraphKernel::place(Buffers buffers) const {
    Running out;
    auto const threads = block_.schedule.threads;
    auto const given = registers_given(threads, hardware_);
    out.blocks = blocks();
    out.is_buffered = buffers == Buffers::two;
    out.shared_bytes = shared_bytes_ + (out.is_buffered ? loop_bytes_ : 0);
    out.registers = std::min(registers_, given);
    out.spilled = registers_ - out.registers;
    auto const residency = residency_of({threads, out.shared_bytes, out.registers}, hardware_);
    out.resident = residency.blocks;
    out.limit = residency.limit;
    out.occupancy = static_cast<double>(out.resident * threads) / hardware_.threads_per_multiprocessor;
    auto const waves = waves_of(out);
    out.waves = waves.count;
    out.last_wave = waves.last;
    return out;
}

Waves GraphKernel::waves_of(Running const& running) const {
    auto const places = hardware_.multiprocessors * std::max<std::int64_t>(running.resident, 1);
    auto const count = ceil_div(running.blocks, places);
    return {count, std::min(running.blocks, places), running.blocks - (count - 1) * places};
}

double GraphKernel::block_us(Running const& running) const {
    auto const latency = to_us(hardware_.latency);
    auto const load = latency + traffic_.charged.step / port_;
    auto const step = times(work_.step.alone()).slowest_us() + to_us(hardware_.step);
    auto const next = running.is_buffered ? std::max(load, step) : load + step;
    return traffic_.charged.before / port_ + load + (steps_ - 1) * next + step +
           times(work_.once.alone()).slowest_us() + traffic_.charged.after / port_;
}

GraphKernel::Wave GraphKernel::wave(KernelCost const& cost, std::int64_t count, double share) const {
    auto const held = static_cast<double>(ceil_div(count, hardware_.multiprocessors)); // on the busiest multiprocessor
    auto const device = cost.bytes / static_cast<double>(cost.running.blocks) * static_cast<double>(count);
    auto const memory =
        std::max(device / rate_us(hardware_.memory_bandwidth), held * traffic_.charged.all(steps_) / port_);
    auto const work = held * (times(whole_).slowest_us() + steps_ * to_us(hardware_.step));
    // The smaller of the two hides behind the larger but for the first or last of this many pieces.
    auto const pieces = held * (cost.running.is_buffered ? steps_ : 1);
    Wave out;
    out.busy = std::max(memory, work);
    out.latency = share * to_us(hardware_.latency) * std::max(1.0, steps_ / pieces);
    out.exposed = share * std::min(memory, work) / pieces;
    out.waiting = std::max(0.0, cost.block_us - out.busy - out.latency - out.exposed);
    return out;
}

PartTimes GraphKernel::parts_of(KernelCost const& cost, Waves const& waves) const {
    auto const resident = std::max<std::int64_t>(cost.running.resident, 1);
    auto const held =
        static_cast<double>(resident * (waves.count - 1) + ceil_div(waves.last, hardware_.multiprocessors));
    auto const units = times(whole_.times(held));
    return {cost.bytes / rate_us(hardware_.memory_bandwidth),
            held * traffic_.charged.all(steps_) / port_,
            units.shared_us,
            units.matmul_us,
            units.other_us,
            units.function_us,
            held * steps_ * to_us(hardware_.step)};
}

KernelCost GraphKernel::cost_of(Running const& running) const {
    auto const waves = waves_of(running);
    auto const all = static_cast<double>(running.blocks);
    KernelCost cost;
    cost.running = running;
    cost.fits = running.resident > 0;
    cost.bytes = device_bytes(traffic_, block_.schedule.grid, waves, hardware_);
    cost.cache_bytes = all * traffic_.moved.all(steps_);
    cost.wasted_bytes = cost.cache_bytes - all * traffic_.asked.all(steps_);
    cost.shared_traffic = all * whole_.shared_bytes;
    cost.in_flight_bytes =
        static_cast<double>(waves.full) * (traffic_.asked.step + (steps_ > 1 ? 0 : traffic_.asked.before));
    cost.flops = all * whole_.flops();
    cost.padded_flops = cost.flops + all * (whole_.padded_flops - whole_.matmul_flops);
    cost.parts = parts_of(cost, waves);
    cost.block_us = block_us(running);

    auto const full = wave(cost, waves.full, 1 / static_cast<double>(std::max<std::int64_t>(running.resident, 1)));
    auto const last = wave(cost, waves.last, 1);
    auto const before = static_cast<double>(waves.count - 1);
    cost.busy_us = before * full.busy + last.busy;
    cost.latency_us = before * full.latency + last.latency;
    cost.exposed_us = before * full.exposed + last.exposed;
    cost.waiting_us = before * full.waiting + last.waiting;
    cost.us = cost.busy_us + cost.latency_us + cost.exposed_us + cost.waiting_us;
    return cost;
}

KernelCost GraphKernel::cost() const {
    auto const plain = cost_of(place(Buffers::one));
    if (!has_second_buffer()) return plain;
    auto const buffered = cost_of(place(Buffers::two));
    return plain.us < buffered.us ? plain : buffered;
}

} // namespace espalier::cost
