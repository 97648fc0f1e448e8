#pragma once

#include "espalier/base/units.hpp"
#include "espalier/config/mugraph_config.hpp"
#include "espalier/config/placement_config.hpp"
#include "espalier/config/uts_config.hpp"

#include <cstdint>
#include <string>
#include <variant>

/// Plain values of an experiment. Defaults are those of the described table (src/config/schema.cpp), which is tested.
namespace espalier::config {

using base::Nanoseconds;

/// `80%` of the memory that the rank may use, or a fixed size.
struct MemoryLimit {
    double fraction = 0.8; ///< used if `bytes` is 0
    std::uint64_t bytes = 0;

    bool operator==(MemoryLimit const&) const = default;
};

struct SearchConfig {
    std::int32_t threads = 0;      ///< working threads a rank; 0 = `auto`: cores of the rank / ranks on its host
    Nanoseconds max_time{0};       ///< of this execution; 0 = no limit
    std::uint64_t max_nodes = 0;   ///< of this execution; 0 = no limit
    std::uint64_t max_results = 0; ///< of the run; 0 = no limit
    MemoryLimit memory;            ///< a rank
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
    std::int32_t elements = 16; ///< output elements of survivors that are confirmed at full shape, about
    Device device = Device::automatic;

    bool operator==(VerifyConfig const&) const = default;
};

enum class Policy { fixed, omp_dynamic, hybrid }; ///< in YAML: static, omp-dynamic, hybrid

struct ClusterConfig {
    Policy policy = Policy::hybrid;
    Nanoseconds budget{200'000'000};
    Nanoseconds commit{10'000'000'000};
    Nanoseconds lease{10'000'000'000};
    Nanoseconds checkpoint{300'000'000'000};
    std::int32_t group = 200; ///< ranks a group master serves
    std::int32_t static_depth =
        0; ///< policy static and omp-dynamic; 0 = `auto`: the first depth with 8 subtrees a thread

    bool operator==(ClusterConfig const&) const = default;
};

struct TraceConfig {
    bool enabled = true;
    std::uint64_t limit_bytes = 256ull << 20; ///< a rank, uncompressed

    bool operator==(TraceConfig const&) const = default;
};

struct ResultsConfig {
    std::string path; ///< required

    bool operator==(ResultsConfig const&) const = default;
};

/// One alternative a problem; `kind` in YAML selects it.
using ProblemConfig = std::variant<UtsConfig, MugraphConfig, PlacementConfig>;

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
