#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace espalier::base {

/// Nanoseconds of a steady clock of this host.
[[nodiscard]] std::int64_t steady_ns();
/// Nanoseconds since 1970 (UTC).
[[nodiscard]] std::int64_t wall_ns();
/// `2026-01-31T12:00:00Z`.
[[nodiscard]] std::string utc_text(std::int64_t wall_time_ns);

/// User + system CPU seconds of this process since it started.
[[nodiscard]] double process_cpu_seconds();
/// User + system CPU nanoseconds of the calling thread.
[[nodiscard]] std::int64_t thread_cpu_ns();
/// Largest resident set of this process so far.
[[nodiscard]] std::uint64_t peak_rss_bytes();
[[nodiscard]] std::uint64_t current_rss_bytes();
/// Memory that this process may use: the machine's, or its control group's limit if that is smaller.
[[nodiscard]] std::uint64_t available_memory_bytes();

/// Cores in the affinity mask of this process.
[[nodiscard]] int affinity_cores();
/// The mask as a list such as `0-3,8`.
[[nodiscard]] std::string affinity_text();
[[nodiscard]] std::string host_name();
/// `model name` of /proc/cpuinfo; `unknown` if there is none.
[[nodiscard]] std::string cpu_name();

/// The user's folder for what can be made again: `espalier` in XDG_CACHE_HOME, or in ~/.cache. It may not exist.
[[nodiscard]] std::filesystem::path cache_folder();

} // namespace espalier::base
