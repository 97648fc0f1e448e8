#pragma once

#include <cstdint>

namespace espalier::config {

/// Keys outside `problem` that not every problem reads. A kind names those that it does; any other is refused where it
/// is written, so that nobody relies on it, and is never a part of a run's identity.
enum class SharedKey : std::uint8_t {
    max_results,
    verify_batch,
    verify_tests,
    verify_prove,
    verify_elements,
    verify_device,
    best_only,
    measure_top,
    measure_seconds,
    measure_times,
};

} // namespace espalier::config
