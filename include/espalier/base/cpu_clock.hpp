#pragma once

#include <cstdint>

namespace espalier::base {

/// What reading thread_cpu_ns() costs, to be taken off short spans: it is a system call, hundreds of nanoseconds.
[[nodiscard]] std::int64_t thread_cpu_clock_ns();

} // namespace espalier::base
