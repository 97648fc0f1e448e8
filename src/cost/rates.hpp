#pragma once

#include "espalier/base/units.hpp"

#include <chrono>
#include <cstdint>

namespace espalier::cost {

[[nodiscard]] inline double to_us(base::Nanoseconds time) {
    return std::chrono::duration<double, std::micro>(time).count();
}
/// Bytes per microsecond.
[[nodiscard]] inline double rate_us(std::uint64_t bytes_per_s) { return static_cast<double>(bytes_per_s) / 1e6; }

} // namespace espalier::cost
