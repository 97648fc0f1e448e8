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

/// What one instruction of a matmul multiplies: m x k by k x n. Smaller operands are padded to it.
struct MatmulShape {
    std::int32_t m = 1, n = 1, k = 1;

    bool operator==(MatmulShape const&) const = default;
};
struct MatmulShapes {
    MatmulShape f16, bf16, f32, f64;

    [[nodiscard]] MatmulShape const& of(program::DType dtype) const {
        return *std::array{&f16, &bf16, &f32, &f64}[static_cast<std::size_t>(dtype)];
    }
    bool operator==(MatmulShapes const&) const = default;
};

/// A machine in the numbers that costs are estimated from. All rates are those of the whole device. Built-in machines
/// are the files of config/hardware, which are compiled in; the defaults here describe nothing.
struct HardwareConfig {
    std::string name = "custom";           ///< for people
    bool is_to_be_measured = false;        ///< `here`: its numbers are those of `cpu` until it was calibrated
    base::Nanoseconds launch{0};           ///< of a kernel
    base::Nanoseconds step{0};             ///< synchronisation of one step of a block's for-loop
    std::uint64_t memory_bandwidth = 0;    ///< device memory, bytes per second
    base::Nanoseconds latency{0};          ///< from asking device memory for bytes to having them
    std::uint64_t l2_bandwidth = 0;        ///< last-level cache, bytes per second
    std::uint64_t l2 = 0;                  ///< bytes
    std::uint64_t l2_access = 1;           ///< bytes that it delivers per access; fewer take as long
    std::uint64_t sector = 1;              ///< the least that it moves at once, bytes
    std::uint64_t shared_bandwidth = 0;    ///< of all multiprocessors together, bytes per second
    std::int32_t shared_banks = 1;         ///< 4 bytes wide, each serves one word at a time; 1: no banks
    FlopRates matmul_tflops;               ///< on tensor cores where the dtype has them
    MatmulShapes matmul_shape;             ///< of one instruction
    std::int32_t matmul_units = 1;         ///< per multiprocessor; a tile of matmul_shape keeps one busy
    FlopRates pointwise_tflops;            ///< everything else
    double function_tops = 0;              ///< exp, sqrt and the like: 10^12 results per second
    std::int32_t multiprocessors = 0;      ///< each runs whole blocks
    std::uint64_t shared_memory = 0;       ///< of a multiprocessor, bytes
    std::uint64_t block_shared_memory = 0; ///< the most that one block may have, bytes
    std::int32_t threads_per_multiprocessor = 0;
    std::int32_t blocks_per_multiprocessor = 0;
    std::int32_t registers = 0;        ///< per multiprocessor, 32 bits each; 0: no limit
    std::int32_t thread_registers = 0; ///< the most that a thread may have; 0: no limit

    bool operator==(HardwareConfig const&) const = default;
};

/// a100, h100, v100, cpu: in the order in which messages list them.
[[nodiscard]] std::vector<HardwareConfig> const& known_hardware();
/// Null if there is none by this name.
[[nodiscard]] HardwareConfig const* find_hardware(std::string_view name);
/// a100.
[[nodiscard]] HardwareConfig const& default_hardware();

/// The machine that searches: measured where an experiment names it; in a stored experiment a map with its numbers.
inline constexpr std::string_view here_name = "here";
[[nodiscard]] HardwareConfig unmeasured_here();
/// A machine as a file that `hardware` reads: every key, with its description. `about`: lines above it.
[[nodiscard]] std::string hardware_file_text(HardwareConfig const& hardware, std::string_view about);

} // namespace espalier::config
