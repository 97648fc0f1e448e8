#pragma once

#include "espalier/reduction/lowered.hpp"

#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// Executes programs of collectives with MPI, one device per rank, and measures them.
namespace espalier::cluster::collectives {

enum class Element : std::uint8_t { f32, f64, i32 };
struct ElementInfo {
    std::string_view name;
    std::size_t size_bytes;
};
inline constexpr std::array<ElementInfo, 3> element_table{{{"f32", 4}, {"f64", 8}, {"i32", 4}}};
[[nodiscard]] constexpr ElementInfo const& info(Element element) {
    return element_table[static_cast<std::size_t>(element)];
}
[[nodiscard]] constexpr std::size_t size_of(Element element) { return info(element).size_bytes; }

/// A payload is the whole vector: of ReduceScatter before, of AllGather after.
using Request = reduction::Request;

/// A program to be executed by as many ranks as it has devices.
struct Plan {
    std::size_t id = 0;                   ///< of the result that it came from
    std::string task;                     ///< placement and reduction, for people
    std::string text;                     ///< the program, for people
    reduction::Lowered steps;             ///< groups are lists of ranks
    std::vector<std::vector<int>> groups; ///< the reduction groups; every rank is in one
    int segments = 1;                     ///< more than 1: steps of different segments overlap
    Request request = Request::all_reduce;
    std::vector<double> predicted_us; ///< for each of Options::sizes; NaN or missing: unknown
};

struct Options {
    std::vector<std::uint64_t> sizes; ///< payloads in bytes
    Element element = Element::f32;
    int repeats = 20; ///< runs that are reported; as many before them choose
    std::uint64_t seed = 1;
    bool json = false;
};

struct Job {
    std::vector<Plan> plans;
    Options options;
};

/// Measures the plans and MPI's own collective (default and every algorithm it can be forced to) on all ranks.
/// Collective over all ranks of the launcher; initialises and ends MPI. `prepare` is called on rank 0, which tells the
/// others, and what it throws is told once. Rank 0 prints. Returns the exit code, the same on all ranks:
/// verification_failed if a sum was wrong, invalid_input if a plan does not fit the number of ranks. A rank ends by
/// itself if the others have not come after `patience`.
[[nodiscard]] int measure(std::function<Job()> const& prepare, std::chrono::nanoseconds patience);

/// Fits latency and bandwidth for each level (ranks of a host, hosts) and collective, and writes a hierarchy that
/// `problem.hierarchy` can use. Otherwise as measure(); sizes are those of the messages.
[[nodiscard]] int calibrate(std::filesystem::path const& file, std::function<Options()> const& prepare,
                            std::chrono::nanoseconds patience);

} // namespace espalier::cluster::collectives
