#include "experiments.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace espalier::config::testing {
namespace {

using base::Nanoseconds;

Nanoseconds any_time(std::int64_t low_ms, std::int64_t high_ms) {
    return std::chrono::milliseconds(*rc::gen::inRange<std::int64_t>(low_ms, high_ms + 1));
}

MemoryLimit any_memory() {
    if (*rc::gen::arbitrary<bool>()) return {.fraction = *rc::gen::inRange(100, 10001) / 100.0 / 100.0, .bytes = 0};
    return {.bytes = *rc::gen::inRange<std::uint64_t>(16ull << 20, 1ull << 50)};
}

SearchConfig any_search() {
    return {.threads = *rc::gen::inRange(0, 4097),
            .max_time = any_time(0, 86'400'000),
            .max_nodes = *rc::gen::arbitrary<std::uint64_t>(),
            .max_results = *rc::gen::arbitrary<std::uint64_t>(),
            .memory = any_memory(),
            .seed = *rc::gen::arbitrary<std::uint64_t>(),
            .verify_batch = *rc::gen::inRange(1, 1'000'001),
            .best_only = *rc::gen::arbitrary<bool>()};
}

VerifyConfig any_verify() {
    return {.tests = *rc::gen::inRange(1, 65),
            .prove = *rc::gen::arbitrary<bool>(),
            .elements = *rc::gen::inRange(1, 1'000'001),
            .device = *rc::gen::element(Device::automatic, Device::cpu, Device::cuda)};
}

ClusterConfig any_cluster() {
    return {.policy = *rc::gen::element(Policy::fixed, Policy::omp_dynamic, Policy::hybrid),
            .budget = any_time(1, 3'600'000),
            .commit = any_time(10, 86'400'000),
            .lease = any_time(50, 3'600'000),
            .checkpoint = any_time(100, 86'400'000),
            .group = *rc::gen::inRange(2, 100'001),
            .start = any_time(1'000, 86'400'000),
            .static_depth = *rc::gen::inRange(0, 1'000'001)};
}

double any_share() { return *rc::gen::inRange(0, 1 << 20) / static_cast<double>(1 << 20); }

/// Only what has a meaning for the type differs from the default.
TreeParameters any_tree() {
    TreeParameters tree{
        .type = *rc::gen::element(TreeType::binomial, TreeType::geometric, TreeType::hybrid, TreeType::balanced),
        .b = 1 + 100 * any_share(),
        .seed = *rc::gen::inRange(0, 1 << 30)};
    auto const is_binomial = tree.type == TreeType::binomial;
    if (!is_binomial) tree.depth = *rc::gen::inRange(2, 1000);
    if (tree.type == TreeType::geometric || tree.type == TreeType::hybrid)
        tree.shape = *rc::gen::element(TreeShape::linear, TreeShape::cyclic, TreeShape::fixed);
    if (is_binomial || tree.type == TreeType::hybrid) {
        tree.m = *rc::gen::inRange(0, 101);
        tree.q = any_share() / (tree.m + 1);
    }
    if (tree.type == TreeType::hybrid) tree.shift = any_share();
    return tree;
}

UtsConfig any_uts() {
    auto const granularity = *rc::gen::inRange(1, 1'000'000'000);
    if (*rc::gen::arbitrary<bool>()) return {.tree = "", .parameters = any_tree(), .granularity = granularity};
    auto const& named = named_trees()[*rc::gen::inRange<std::size_t>(0, named_trees().size())];
    return {.tree = std::string(named.name), .parameters = named.parameters, .granularity = granularity};
}

std::string any_path() { return *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127))); }

/// Without what a problem that counts never reads.
SearchConfig any_counting_search() {
    auto search = any_search();
    SearchConfig const unread;
    search.max_results = unread.max_results;
    search.verify_batch = unread.verify_batch;
    search.best_only = unread.best_only;
    return search;
}

RunConfig any_config() {
    return {.problem = problems::uts::problem_section().hold(any_uts()),
            .search = any_counting_search(),
            .cluster = any_cluster(),
            .trace = {.enabled = *rc::gen::arbitrary<bool>(),
                      .limit_bytes = *rc::gen::inRange<std::uint64_t>(1 << 16, 1ull << 40)},
            .results = {.path = any_path()}};
}

RC_GTEST_PROP(RoundTrip, reading_what_was_written_gives_the_same_experiment, ()) {
    auto const config = any_config();

    RC_ASSERT(parse(to_yaml(config)) == config);
}

RC_GTEST_PROP(RoundTrip, what_a_superoptimizer_reads_is_written_and_read, ()) {
    auto config = parse("problem: {kind: mugraph, program: {builtin: gated_mlp, tokens: 8}}\nresults: {path: x}\n");
    config.search = any_search();
    config.verify = any_verify();

    RC_ASSERT(parse(to_yaml(config)) == config);
}

RC_GTEST_PROP(RoundTrip, a_problem_in_full_has_the_text_of_the_problem, ()) {
    auto const config = any_config();
    auto const text = problem_text(config.problem);

    auto const again = parse("problem: " + text + "\nresults: {path: x}\n");

    RC_ASSERT(text.find('\n') == std::string::npos);
    RC_ASSERT(problem_text(again.problem) == text);
    RC_ASSERT(uts(again).parameters == uts(config).parameters);
}

RC_GTEST_PROP(RoundTrip, any_text_is_read_or_refused_with_a_config_error, ()) {
    auto const text =
        *rc::gen::container<std::string>(rc::gen::element('a', ':', ' ', '\n', '{', '}', '[', ']', '-', '"', '&', '*',
                                                          '!', '|', '>', '%', '#', ',', '?', '\t', '1', '\\'));

    RC_ASSERT(!errors_of(text).empty());
}

TEST(RoundTrip, every_key_is_written_out) {
    EXPECT_EQ(to_yaml(parse(minimal)), "problem:\n"
                                       "  kind: uts\n"
                                       "  tree: T1\n"
                                       "  granularity: 1\n"
                                       "search:\n"
                                       "  threads: auto\n"
                                       "  max_time: none\n"
                                       "  max_nodes: 0\n"
                                       "  max_results: 0\n"
                                       "  memory: 80%\n"
                                       "  seed: 1\n"
                                       "  verify_batch: 64\n"
                                       "  best_only: false\n"
                                       "verify:\n"
                                       "  tests: 4\n"
                                       "  prove: true\n"
                                       "  elements: 16\n"
                                       "  device: auto\n"
                                       "measure:\n"
                                       "  top: auto\n"
                                       "  seconds: 30\n"
                                       "  times: auto\n"
                                       "cluster:\n"
                                       "  policy: hybrid\n"
                                       "  budget: 200ms\n"
                                       "  commit: 10s\n"
                                       "  lease: 10s\n"
                                       "  checkpoint: 5min\n"
                                       "  group: 200\n"
                                       "  start: 5min\n"
                                       "  static_depth: auto\n"
                                       "trace:\n"
                                       "  enabled: true\n"
                                       "  limit: 256MiB\n"
                                       "results:\n"
                                       "  path: runs/x\n");
}

TEST(RoundTrip, the_kind_of_a_problem_has_its_name) {
    EXPECT_EQ(kind_of(problems::uts::problem_section().hold({})), "uts");
    EXPECT_EQ(kind_of(problems::mugraph::problem_section().hold({})), "mugraph");
}

} // namespace
} // namespace espalier::config::testing
