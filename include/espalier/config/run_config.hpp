#pragma once

#include "espalier/base/policy.hpp"
#include "espalier/base/units.hpp"
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
    std::int32_t verify_batch = 64; ///< candidates verified together
    bool best_only = false;         ///< branch and bound on cost: only the cheapest result is kept

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

using base::Policy;

struct ClusterConfig {
    Policy policy = Policy::hybrid;
    Nanoseconds budget{200'000'000};
    Nanoseconds commit{10'000'000'000};
    Nanoseconds lease{10'000'000'000};
    Nanoseconds checkpoint{300'000'000'000};
    std::int32_t group = 200;           ///< ranks that a group master serves
    Nanoseconds start{300'000'000'000}; ///< how long ranks wait for each other at the start and at the end
    std::int32_t static_depth =
        0; ///< policy static and omp-dynamic; 0 = `auto`: the first depth with 8 subtrees per thread

    bool operator==(ClusterConfig const&) const = default;
};

struct TraceConfig {
    bool enabled = true;
    std::uint64_t limit_bytes = 256ull << 20; ///< per rank, uncompressed

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
    ClusterConfig cluster;
    TraceConfig trace;
    ResultsConfig results;

    bool operator==(RunConfig const&) const = default;
};

} // namespace espalier::config
