#include "experiments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// What single keys accept and refuse.
namespace espalier::config::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

std::string errors_of_search(std::string const& keys) { return errors_of(minimal + "search: {" + keys + "}\n"); }
std::string errors_of_cluster(std::string const& keys) { return errors_of(minimal + "cluster: {" + keys + "}\n"); }
SearchConfig search(std::string const& keys) { return parse(minimal + "search: {" + keys + "}\n").search; }
ClusterConfig cluster(std::string const& keys) { return parse(minimal + "cluster: {" + keys + "}\n").cluster; }

TEST(Values, what_is_not_said_has_the_default_of_the_struct) {
    auto const config = parse(minimal);

    EXPECT_EQ(config.search, SearchConfig{});
    EXPECT_EQ(config.cluster, ClusterConfig{});
    EXPECT_EQ(config.trace, TraceConfig{});
    EXPECT_EQ(config.results.path, "runs/x");
}

TEST(Values, threads_are_auto_or_a_number) {
    EXPECT_EQ(search("threads: auto").threads, 0);
    EXPECT_EQ(search("threads: 2").threads, 2);
    EXPECT_THAT(errors_of_search("threads: 0"),
                HasSubstr("= 0 is out of range: use auto or a whole number from 1 to 4096"));
    EXPECT_THAT(errors_of_search("threads: two"),
                HasSubstr("must be auto or a whole number from 1 to 4096, not 'two'"));
    EXPECT_THAT(errors_of_search("threads: 1.5"),
                HasSubstr("must be auto or a whole number from 1 to 4096, not '1.5'"));
    EXPECT_THAT(errors_of_search("threads: [1]"),
                HasSubstr("must be auto or a whole number from 1 to 4096, not a list"));
}

TEST(Values, times_have_units) {
    EXPECT_EQ(search("max_time: 10m").max_time, 10min);
    EXPECT_EQ(search("max_time: 10min").max_time, 10min);
    EXPECT_EQ(search("max_time: 3h50m").max_time, 3h + 50min);
    EXPECT_EQ(cluster("budget: 200ms").budget, 200ms);
    EXPECT_THAT(errors_of_cluster("budget: 10"), HasSubstr("'cluster.budget' = 10 has no unit: use 10s"));
    EXPECT_THAT(errors_of_cluster("budget: 1.5"), HasSubstr("'cluster.budget' = 1.5 has no unit: use 1.5s"));
    EXPECT_THAT(errors_of_cluster("budget: 10 parsecs"), HasSubstr("must be a time from 1ms to 1h, not '10 parsecs'"));
    EXPECT_THAT(errors_of_cluster("budget: nans"), HasSubstr("must be a time from 1ms to 1h, not 'nans'"));
    EXPECT_THAT(errors_of_cluster("budget: -1s"), HasSubstr("must be a time from 1ms to 1h, not '-1s'"));
}

TEST(Values, no_time_limit_is_none_or_zero) {
    EXPECT_EQ(search("max_time: none").max_time, 0s);
    EXPECT_EQ(search("max_time: 0").max_time, 0s);
    EXPECT_EQ(search("max_time: 0s").max_time, 0s);
}

TEST(Values, a_lease_that_is_too_short_is_refused) {
    EXPECT_EQ(cluster("lease: 50ms").lease, 50ms);
    EXPECT_THAT(errors_of_cluster("lease: 49ms"),
                HasSubstr("'cluster.lease' = 49ms is out of range: use a time from 50ms to 1h"));
    EXPECT_THAT(errors_of_cluster("lease: 0"), HasSubstr("'cluster.lease' = 0 is out of range"));
}

TEST(Values, memory_is_a_share_or_a_size) {
    EXPECT_EQ(search("memory: 50%").memory, (MemoryLimit{.fraction = 0.5, .bytes = 0}));
    EXPECT_EQ(search("memory: 4GiB").memory.bytes, 4ull << 30);
    EXPECT_EQ(search("memory: 20000000").memory.bytes, 20'000'000u);
    EXPECT_THAT(errors_of_search("memory: 0%"),
                HasSubstr("= 0% is out of range: use a share from 1% to 100% or a size from"));
    EXPECT_THAT(errors_of_search("memory: 101%"), HasSubstr("= 101% is out of range"));
    EXPECT_THAT(errors_of_search("memory: 1KiB"), HasSubstr("= 1KiB is out of range"));
    EXPECT_THAT(errors_of_search("memory: lots"), HasSubstr("not 'lots'"));
    EXPECT_THAT(errors_of_search("memory: x%"), HasSubstr("not 'x%'"));
}

TEST(Values, whole_numbers_may_have_an_exponent_but_no_quotes) {
    EXPECT_EQ(search("max_nodes: 1e9").max_nodes, 1'000'000'000u);
    EXPECT_EQ(search("seed: 18446744073709551615").seed, 18446744073709551615u);
    EXPECT_THAT(errors_of_search("seed: 18446744073709551616"),
                HasSubstr("is out of range: use a whole number of at least 0"));
    EXPECT_THAT(errors_of_search("seed: -1"), HasSubstr("'search.seed' = -1 is out of range"));
    EXPECT_THAT(errors_of_search("seed: '1'"), HasSubstr("must be a whole number of at least 0, not \"1\""));
    EXPECT_THAT(errors_of_search("seed: 0.5"), HasSubstr("not '0.5'"));
}

TEST(Values, a_word_of_a_closed_set_gets_the_set_and_a_suggestion) {
    EXPECT_EQ(cluster("policy: static").policy, Policy::fixed);
    EXPECT_EQ(cluster("policy: omp-dynamic").policy, Policy::omp_dynamic);
    EXPECT_EQ(cluster("policy: hybrid").policy, Policy::hybrid);
    EXPECT_THAT(errors_of_cluster("policy: omp_dynamic"),
                HasSubstr("'cluster.policy' must be one of hybrid, static, omp-dynamic, "
                          "not 'omp_dynamic'; did you mean 'omp-dynamic'?"));
}

TEST(Values, other_keys_have_their_ranges) {
    EXPECT_EQ(cluster("static_depth: auto, group: 2").static_depth, 0);
    EXPECT_EQ(cluster("static_depth: 3").static_depth, 3);
    EXPECT_THAT(errors_of_cluster("static_depth: 0"), HasSubstr("use auto or a whole number from 1"));
    EXPECT_THAT(errors_of_cluster("start: 10ms"), HasSubstr("use a time from 1s to 1d"));
    EXPECT_THAT(errors_of_cluster("group: 1"), HasSubstr("use a whole number from 2 to 100000"));
    EXPECT_THAT(errors_of_search("verify_batch: 0"), HasSubstr("use a whole number from 1 to 1000000"));
    EXPECT_THAT(errors_of(minimal + "trace: {limit: 1B}\n"), HasSubstr("use a size from 64KiB to 1TiB"));
    EXPECT_THAT(errors_of(minimal + "trace: {enabled: yes}\n"), HasSubstr("must be true or false, not 'yes'"));
}

TEST(Values, a_path_is_any_text_but_the_empty_one) {
    EXPECT_EQ(parse("problem: {kind: uts}\nresults: {path: 'my runs: 1'}\n").results.path, "my runs: 1");
    EXPECT_EQ(parse("problem: {kind: uts}\nresults: {path: 17}\n").results.path, "17");
    EXPECT_THAT(errors_of("problem: {kind: uts}\nresults: {path: ''}\n"),
                HasSubstr("must be a non-empty text, not \"\""));
}

} // namespace
} // namespace espalier::config::testing
