#pragma once

#include "espalier/base/cluster_options.hpp"
#include "espalier/base/defaults.hpp"
#include "espalier/config/memory_limit.hpp"
#include "espalier/config/problem_section.hpp"

#include <cstdint>
#include <string>

/// Plain values of an experiment. Defaults are those of the described table (src/config/schema.cpp), which is tested.
namespace espalier::config {

using base::Nanoseconds;

struct SearchConfig {
    std::int32_t threads = 0;      ///< working threads per rank; 0 = `auto`: cores of the rank / ranks on its host
    Nanoseconds max_time{0};       ///< of this execution; 0 = no limit
    std::uint64_t max_nodes = 0;   ///< of this execution; 0 = no limit
    std::uint64_t max_results = 0; ///< of the run; 0 = no limit
    MemoryLimit memory;            ///< per rank
    std::uint64_t seed = 1;
    std::int32_t verify_batch = base::defaults::verify_batch; ///< candidates verified together
    bool best_only = false; ///< branch and bound on cost: only the cheapest result is kept

    bool operator==(SearchConfig const&) const = default;
};

enum class Device { automatic, cpu, cuda };

/// How candidates are verified.
struct VerifyConfig {
    std::int32_t tests = 4;     ///< independent random inputs in finite fields
    bool prove = true;          ///< then a formal proof is tried
    std::int32_t elements = 16; ///< about how many output elements of survivors are confirmed at full shape
    Device device = Device::automatic;

    bool operator==(VerifyConfig const&) const = default;
};

/// What a search measures when it is complete.
struct MeasureConfig {
    static constexpr std::int32_t automatic = -1;

    std::int32_t top = automatic; ///< how many of the best results; `auto` is the kind's to decide
    double seconds = 30;          ///< limit on the time of all of it
    std::string times;            ///< the file of measured times; empty: in the user's cache folder

    bool operator==(MeasureConfig const&) const = default;
};

using base::Policy;

using ClusterConfig = base::ClusterOptions;

struct TraceConfig {
    bool enabled = true;
    std::uint64_t limit_bytes = base::defaults::trace_limit_bytes; ///< per rank, uncompressed

    bool operator==(TraceConfig const&) const = default;
};

struct ResultsConfig {
    std::string path; ///< required

    bool operator==(ResultsConfig const&) const = default;
};

struct RunConfig {
    ProblemConfig problem;
    SearchConfig search;
    VerifyConfig verify;
    MeasureConfig measure;
    ClusterConfig cluster;
    TraceConfig trace;
    ResultsConfig results;

    bool operator==(RunConfig const&) const = default;
};

} // namespace espalier::config
