#pragma once

#include "espalier/base/units.hpp"
#include "espalier/program/dtype.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::config {

/// 10^12 floating-point operations per second, by dtype.
struct FlopRates {
    double f16 = 0;
    double bf16 = 0;
    double f32 = 0;
    double f64 = 0;

    [[nodiscard]] double of(program::DType dtype) const {
        return std::array{f16, bf16, f32, f64}[static_cast<std::size_t>(dtype)];
    }
    bool operator==(FlopRates const&) const = default;
};

/// A machine in the numbers that costs are estimated from. All rates are those of the whole device. Built-in machines
/// are the files of config/hardware, which are compiled in; the defaults here describe nothing.
struct HardwareConfig {
    std::string name = "custom";           ///< for people
    base::Nanoseconds launch{0};           ///< of a kernel
    base::Nanoseconds step{0};             ///< synchronisation of one step of a block's for-loop
    std::uint64_t memory_bandwidth = 0;    ///< device memory, bytes per second
    std::uint64_t l2_bandwidth = 0;        ///< last-level cache, bytes per second
    std::uint64_t l2 = 0;                  ///< bytes
    std::uint64_t shared_bandwidth = 0;    ///< of all multiprocessors together, bytes per second
    FlopRates matmul_tflops;               ///< on tensor cores where the dtype has them
    FlopRates pointwise_tflops;            ///< everything else
    double function_tops = 0;              ///< exp, sqrt and the like: 10^12 results per second
    std::int32_t multiprocessors = 0;      ///< each runs whole blocks
    std::uint64_t shared_memory = 0;       ///< of a multiprocessor, bytes
    std::uint64_t block_shared_memory = 0; ///< the most that one block may have, bytes
    std::int32_t threads_per_multiprocessor = 0;
    std::int32_t blocks_per_multiprocessor = 0;

    bool operator==(HardwareConfig const&) const = default;
};

/// a100, h100, v100, cpu: in the order in which messages list them.
[[nodiscard]] std::vector<HardwareConfig> const& known_hardware();
/// Null if there is none by this name.
[[nodiscard]] HardwareConfig const* find_hardware(std::string_view name);
/// a100.
[[nodiscard]] HardwareConfig const& default_hardware();

} // namespace espalier::config
