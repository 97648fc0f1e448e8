#include "schema.hpp"

#include "kinds.hpp"
#include "shared_keys.hpp"

#include <chrono>

namespace espalier::config {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t mebibyte = 1ull << 20;
constexpr Nanoseconds day = 24h;

Section<SearchConfig> search_section() {
    Section<SearchConfig> section;
    section
        .field({"threads", "working threads per rank; auto: the cores of the rank / the ranks on its host"},
               &SearchConfig::threads, or_word("auto", 0, integer<std::int32_t>({1, 4096})))
        .field({"max_time", "time limit of this execution, e.g. 10min or 3h50m; none or 0: no limit"},
               &SearchConfig::max_time, or_word("none", Nanoseconds{0}, duration({0s, 365 * day})))
        .field({"max_nodes", "limit on the nodes visited in this execution; 0: no limit"}, &SearchConfig::max_nodes,
               integer<std::uint64_t>({0}))
        .field({"max_results", "the run stops after this many results; 0: no limit"}, &SearchConfig::max_results,
               integer<std::uint64_t>({0}))
        .field({"memory", "a rank stops cleanly above this: a share of its memory (80%) or a size (4GiB)"},
               &SearchConfig::memory, memory_limit({1, 100}, {16 * mebibyte, 1ull << 50}))
        .field({"seed", "seed of everything random in the search"}, &SearchConfig::seed, integer<std::uint64_t>({0}))
        .field({"verify_batch", "candidates verified together"}, &SearchConfig::verify_batch,
               integer<std::int32_t>({1, 1'000'000}))
        .field({"best_only", "branch and bound on cost: only the cheapest result is kept"}, &SearchConfig::best_only,
               flag());
    return section;
}

Scalar<Device> device() {
    return choice<Device>({{"auto", Device::automatic}, {"cpu", Device::cpu}, {"cuda", Device::cuda}});
}

Section<VerifyConfig> verify_section() {
    Section<VerifyConfig> section;
    section
        .field({"tests", "independent random inputs on which a candidate must agree"}, &VerifyConfig::tests,
               integer<std::int32_t>({1, 64}))
        .field({"prove", "try a formal proof of what passes the tests"}, &VerifyConfig::prove, flag())
        .field({"elements", "about how many output elements are confirmed at full shape"}, &VerifyConfig::elements,
               integer<std::int32_t>({1, 1'000'000}))
        .field({"device", "where candidates are evaluated; auto: a GPU if there is one"}, &VerifyConfig::device,
               device());
    return section;
}

Section<MeasureConfig> measure_section() {
    Section<MeasureConfig> section;
    section
        .field({"top", "how many of the best results are measured at the end; auto: 5 if the hardware is `here`, else "
                       "none"},
               &MeasureConfig::top, or_word("auto", MeasureConfig::automatic, integer<std::int32_t>({0, 1'000'000})))
        .field({"seconds", "limit on the time that all of that takes"}, &MeasureConfig::seconds, real({0.1, 1e6}))
        .field({"times", "the file of measured times, which runs share; auto: in the user's cache folder"},
               &MeasureConfig::times, or_word("auto", std::string(), text()));
    return section;
}

Scalar<Policy> policy() {
    auto const row = [](Policy policy) { return std::pair{std::string(base::name(policy)), policy}; };
    return choice<Policy>({row(Policy::hybrid), row(Policy::fixed), row(Policy::omp_dynamic)});
}

Section<TraceConfig> trace_section() {
    Section<TraceConfig> section;
    section.field({"enabled", "record what every thread does when"}, &TraceConfig::enabled, flag())
        .field({"limit", "size of a rank's trace, uncompressed; past it neighbouring events are merged"},
               &TraceConfig::limit_bytes, size_bytes({1ull << 16, 1ull << 40}));
    return section;
}

Section<ResultsConfig> results_section() {
    Section<ResultsConfig> section;
    section.field({"path", "folder of the run; the same path again resumes it", "runs/my-run"}, &ResultsConfig::path,
                  text());
    return section;
}

Section<ClusterConfig> make_cluster_section() {
    Section<ClusterConfig> section;
    section
        .field({"policy", "how work reaches the ranks: hybrid (budgeted subtrees), static (dealt out once) or "
                          "omp-dynamic (dealt out once, dynamic inside a rank)"},
               &ClusterConfig::policy, policy())
        .field({"budget", "time after which a batch reports to its master"}, &ClusterConfig::budget,
               duration({1ms, 1h}))
        .field({"commit", "time between full commits of a rank to its master"}, &ClusterConfig::commit,
               duration({10ms, day}))
        .field({"lease", "a silent rank counts as lost after this time"}, &ClusterConfig::lease, duration({50ms, 1h}))
        .field({"checkpoint", "time between checkpoints"}, &ClusterConfig::checkpoint, duration({100ms, 7 * day}))
        .field({"group", "ranks that a group master serves"}, &ClusterConfig::group,
               integer<std::int32_t>({2, 100'000}))
        .field({"start", "time within which the ranks must find each other; after it they give up"},
               &ClusterConfig::start, duration({1s, day}))
        .field({"static_depth",
                "depth at which static and omp-dynamic cut the tree; auto: the first with 8 subtrees per thread"},
               &ClusterConfig::static_depth, or_word("auto", 0, integer<std::int32_t>({1, 1'000'000})));
    return section;
}

} // namespace

Section<ClusterConfig> const& cluster_section() {
    static Section<ClusterConfig> const section = make_cluster_section();
    return section;
}

Section<RunConfig> experiment_section(ProblemSections const& kinds) {
    Section<RunConfig> section;
    section
        .field({"problem", "what is searched", kinds.empty() ? "" : kinds.front()->texts().example},
               &RunConfig::problem, kind_codec(kinds))
        .field({"search", "limits and resources of a rank"}, &RunConfig::search, search_section().codec())
        .field({"verify", "how candidates are verified"}, &RunConfig::verify, verify_section().codec())
        .field({"measure", "what is measured when the search is complete"}, &RunConfig::measure,
               measure_section().codec())
        .field({"cluster", "how ranks share the work"}, &RunConfig::cluster, cluster_section().codec())
        .field({"trace", "what is recorded for analysis"}, &RunConfig::trace, trace_section().codec())
        .field({"results", "where the run is kept", "{path: runs/my-run}"}, &RunConfig::results,
               results_section().codec())
        .check([kinds](RunConfig const& config, Value const& document, Context const& at) {
            return refuse_unread_keys(config, document, kinds, at);
        });
    return section;
}

} // namespace espalier::config
