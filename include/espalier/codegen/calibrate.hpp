#pragma once

#include "espalier/base/stop.hpp"
#include "espalier/codegen/cpu_numbers.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace espalier::codegen {

/// Of one core while the others rest, and of all together: units per ns, that is, 10^9 units per second.
struct Rate {
    double one = 0;
    double all = 0;

    bool operator==(Rate const&) const = default;
};

/// The best rates of this machine, measured.
struct Calibration {
    std::string cpu;
    std::string compiler;
    int cores = 0; ///< in the affinity mask
    std::uint64_t last_cache_bytes = 0;
    std::uint64_t near_cache_bytes = 0; ///< the second-level cache of a core
    Rate memory;                        ///< bytes that are read
    Rate last_cache;
    Rate near_cache;
    Rate f32; ///< operations: a multiply-add is two
    Rate f64;
    double fork_ns = 0; ///< of a parallel region

    bool operator==(Calibration const&) const = default;
};

struct CalibrateOptions {
    double seconds = 1;             ///< of measuring; it may take some three times as long
    std::filesystem::path folder{}; ///< where it is kept; empty: the user's cache folder
    base::StopToken stop{};
};
/// Measures this machine in a process of its own, and keeps the numbers. Throws InputError if there is no compiler,
/// SystemError if it cannot be measured, and Stopped.
[[nodiscard]] Calibration calibrate(CalibrateOptions const& options = {});
/// The numbers kept from the last time, for this processor, number of cores and compiler; nothing if there are none,
/// if they are damaged, or if there is no compiler.
[[nodiscard]] std::optional<Calibration> known_calibration(std::filesystem::path const& folder = {});

/// What tile numbers are chosen for: those of this machine as far as they are known.
[[nodiscard]] CpuNumbers this_machines_numbers();

} // namespace espalier::codegen
