#include "residency.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace espalier::cost {
namespace {

// Addresses, counters, and pieces of operands in flight: the number that ptxas takes for them, if nothing limits it, in
// kernels that were generated from programs (perf/gpu_resources.py).
constexpr double base_registers = 64;
constexpr double register_step = 8; // they are handed out by eights

std::int64_t blocks_by_registers(BlockNeeds const& needs, config::HardwareConfig const& hardware) {
    if (hardware.registers == 0) return std::numeric_limits<std::int64_t>::max();
    auto const block = std::ceil(needs.registers / register_step) * register_step * static_cast<double>(needs.threads);
    return std::max<std::int64_t>(
        1,
        static_cast<std::int64_t>(hardware.registers / block)); // there is always room for one block: it spills
}

} // namespace

Residency residency_of(BlockNeeds const& needs, config::HardwareConfig const& hardware) {
    if (needs.shared_bytes > static_cast<std::int64_t>(hardware.block_shared_memory)) return {0, Limit::shared_memory};
    auto const shared = static_cast<std::int64_t>(hardware.shared_memory);
    std::array<Residency, 4> const limits{
        {{hardware.blocks_per_multiprocessor, Limit::blocks},
         {hardware.threads_per_multiprocessor / std::max<std::int64_t>(needs.threads, 1), Limit::threads},
         {shared / std::max<std::int64_t>(needs.shared_bytes, 1), Limit::shared_memory},
         {blocks_by_registers(needs, hardware), Limit::registers}}};
    return *std::ranges::min_element(limits, {}, &Residency::blocks);
}

double registers_wanted(std::int64_t product_elements, std::int64_t threads, program::DType dtype) {
    // Sums are kept in 32 bits or more.
    auto const words = static_cast<double>(std::max<std::int64_t>(info(dtype).size_bytes, 4)) / 4;
    return base_registers + std::ceil(static_cast<double>(product_elements) * words / static_cast<double>(threads));
}

double registers_given(std::int64_t threads, config::HardwareConfig const& hardware) {
    auto given = std::numeric_limits<double>::max();
    if (hardware.thread_registers > 0) given = std::min(given, static_cast<double>(hardware.thread_registers));
    if (hardware.registers > 0)
        given = std::min(given, static_cast<double>(hardware.registers) / static_cast<double>(threads));
    return given;
}

} // namespace espalier::cost
