#include "experiments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::config::testing {
namespace {

using ::testing::HasSubstr;

TEST(KindKeys, a_key_that_the_problem_never_reads_is_refused_where_it_stands) {
    EXPECT_THAT(errors_of(minimal + "verify: {tests: 5}\n"),
                HasSubstr("'verify.tests' has no meaning here (kind: uts never reads it, only mugraph does)"));
    EXPECT_THAT(errors_of(minimal + "search: {best_only: true}\n"), HasSubstr("5:10"));
    EXPECT_THAT(errors_of(minimal_placement, {"verify.tests=5"}),
                HasSubstr("--set verify.tests=5: error: 'verify.tests'"));
}

TEST(KindKeys, its_default_is_silent_because_a_merged_experiment_has_every_key) {
    EXPECT_EQ(errors_of(minimal_placement, {"verify.tests=4"}), "");
    EXPECT_EQ(parse(to_yaml(parse(minimal))), parse(minimal));
}

TEST(KindKeys, what_it_reads_is_taken) {
    EXPECT_TRUE(parse(minimal_placement, {"search.best_only=true"}).search.best_only);
    EXPECT_EQ(parse(minimal_placement, {"search.seed=7"}).search.seed, 7u);
}

TEST(KindKeys, identity_is_made_of_what_the_problem_reads_and_what_decides) {
    auto const mugraph =
        parse("problem: {kind: mugraph, program: {builtin: gated_mlp, tokens: 8}}\nresults: {path: x}\n",
              {"verify.tests=5", "verify.device=cpu", "search.max_results=7"});

    EXPECT_EQ(identity_text(mugraph), "tests 5, prove true, elements 16");
    EXPECT_EQ(identity_text(parse(minimal_placement)), "");
    EXPECT_EQ(identity_text(parse(minimal_placement, {"search.best_only=true"})), "best only");
    EXPECT_EQ(identity_text(parse(minimal)), "");
}

TEST(KindKeys, what_an_earlier_version_stored_is_read) {
    auto const stored = minimal + "search: {threads: 3, seed: 1, best_only: true}\nverify: {tests: 5}\n";

    EXPECT_EQ(experiments().parse_stored(stored), parse(minimal, {"search.threads=3"}));
}

} // namespace
} // namespace espalier::config::testing
