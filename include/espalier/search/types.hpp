#pragma once

#include "espalier/base/bytes.hpp"
#include "espalier/base/ids.hpp"
#include "espalier/search/known.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

/// The plain values that search, store and cluster exchange. Nothing here knows what a node means.
namespace espalier::search {

inline constexpr double no_incumbent = std::numeric_limits<double>::infinity();

/// Why a run ended.
enum class StopReason : std::uint8_t { complete, time_limit, node_limit, result_limit, signal, memory_limit, error };
inline constexpr std::array<std::string_view, 7> stop_reason_names{
    "complete", "time_limit", "node_limit", "result_limit", "signal", "memory_limit", "error"};
[[nodiscard]] constexpr std::string_view name(StopReason reason) {
    return stop_reason_names[static_cast<std::size_t>(reason)];
}

/// A subtree, by its root: choices and sizes only, so that any process can unpack it.
struct PackedNode {
    base::Bytes bytes;
    std::int32_t depth = 0;
    double priority = 0;      ///< smaller is more promising; 0 if the problem has none
    std::uint64_t origin = 0; ///< id of the chunk that made it, for the trace; not kept across a resume

    bool operator==(PackedNode const&) const = default;
};
using PackedNodes = std::vector<PackedNode>;

/// One verified result, ready to be stored.
struct ResultRecord {
    std::uint64_t key = 0; ///< content hash; equal results have equal keys
    double cost = 0;
    double error_bound = 0; ///< probability that it is wrong; 0 if proved or counted
    Verification verification = Verification::random;
    std::string text;    ///< readable form
    base::Bytes payload; ///< the problem's own form
    double found_s = 0;  ///< run time, over all executions, at which the master first had it; travels in no message

    bool operator==(ResultRecord const&) const = default;
};

/// A record for the next stage, joined by key there.
struct EmitRecord {
    std::uint64_t key = 0;
    base::Bytes bytes;

    auto operator<=>(EmitRecord const&) const = default;
};

enum class CounterKind : std::uint8_t { sum, max };

/// A number that a problem keeps beside the node count, e.g. the depth of the tree.
struct CounterInfo {
    std::string name;
    CounterKind kind = CounterKind::sum;

    bool operator==(CounterInfo const&) const = default;
};

/// What the engine must know of a problem to count for it.
struct ProblemInfo {
    std::string kind;                 ///< as in the experiment file
    std::vector<std::string> reasons; ///< of pruning, by ReasonId
    std::vector<CounterInfo> counters;
    std::vector<std::string> parts; ///< of the time that expanding takes, for the trace; see Notes::add_part
    bool has_bound = false;         ///< branch and bound: only results equal to the best are kept
    bool has_classes = false;       ///< ... to the best of their class
    bool has_priority = false;
    bool has_measure = false; ///< results are measured, and what is stored of them is not measured again
    bool has_visited = false; ///< a table of visited states: counts of nodes differ from run to run
    bool has_buckets = false; ///< what a stage emits is joined by workers, bucket by bucket
    bool is_counting = false; ///< never ends with "nothing found"
    int stages = 1;
    std::vector<std::string> stage_names = {}; ///< of all stages, in words; none where there is nothing to say
};

/// `stage 3 of 12: one kernel, 3 block ops`; nothing if there are no words. Stages are numbered from 0.
[[nodiscard]] std::string stage_text(ProblemInfo const& info, int stage);

/// Exact counts of finished nodes. Adding two is how ranks and executions are joined.
struct Counts {
    std::uint64_t nodes = 0;
    std::vector<std::uint64_t> funnel;   ///< by ReasonId
    std::vector<std::uint64_t> counters; ///< as ProblemInfo::counters

    bool operator==(Counts const&) const = default;
};
[[nodiscard]] Counts zero_counts(ProblemInfo const& info);
void add_to(Counts& total, Counts const& more, ProblemInfo const& info);

/// CPU seconds by what they were spent on.
struct PhaseTimes {
    double start = 0, search = 0, verify = 0, prove = 0, store = 0, idle = 0;

    PhaseTimes& operator+=(PhaseTimes const& other);
    bool operator==(PhaseTimes const&) const = default;
};

} // namespace espalier::search
