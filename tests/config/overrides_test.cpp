#include "experiments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::config::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Overrides, a_text_is_split_at_the_first_equals_sign) {
    auto const one = parse_override("results.path=a=b");

    EXPECT_EQ(one.key, "results.path");
    EXPECT_EQ(one.value, "a=b");
    EXPECT_EQ(one.origin, "--set results.path=a=b");
}

TEST(Overrides, a_text_without_key_or_value_is_refused) {
    for (auto const* text : {"search.threads", "=2", "search..threads=2", ".threads=2", "search.=2", "", "a b=2"})
        EXPECT_THROW((void)parse_override(text), base::InputError) << text;
}

TEST(Overrides, an_override_wins_over_the_file_and_a_later_one_over_an_earlier) {
    auto const text = minimal + "search: {threads: 2, seed: 5}\n";

    EXPECT_EQ(parse(text, {"search.threads=3"}).search.threads, 3);
    EXPECT_EQ(parse(text, {"search.threads=3", "search.threads=4"}).search.threads, 4);
    EXPECT_EQ(parse(text, {"search.threads=3"}).search.seed, 5u);
}

TEST(Overrides, an_override_mends_a_bad_value_of_the_file) {
    EXPECT_EQ(parse(minimal + "search: {threads: 0}\n", {"search.threads=2"}).search.threads, 2);
}

TEST(Overrides, an_override_may_create_its_section) {
    EXPECT_EQ(parse(minimal, {"cluster.group=5"}).cluster.group, 5);
    EXPECT_EQ(parse("problem: {kind: uts}\n", {"results.path=y"}).results.path, "y");
}

TEST(Overrides, a_value_is_yaml_and_a_map_replaces_the_section) {
    auto const config = parse(minimal + "search: {seed: 9}\n", {"search={threads: 3, max_time: 5min}"});

    EXPECT_EQ(config.search.threads, 3);
    EXPECT_EQ(config.search.seed, 1u);
}

TEST(Overrides, a_tree_can_be_replaced_or_changed) {
    EXPECT_EQ(uts(parse(minimal, {"problem.tree=T3"})).tree, "T3");

    auto const changed = uts(parse(minimal, {"problem.tree.seed=4"}));
    EXPECT_EQ(changed.tree, "");
    EXPECT_EQ(changed.parameters.seed, 4);
    EXPECT_EQ(changed.parameters.depth, 10) << "the rest is still T1";

    EXPECT_EQ(uts(parse(minimal, {"problem.tree=T5", "problem.tree.seed=4"})).parameters.depth, 20);
    EXPECT_EQ(uts(parse(minimal, {"problem.tree.seed=4", "problem.tree=T5"})).tree, "T5");
}

TEST(Overrides, another_type_of_a_named_tree_forgets_what_has_no_meaning) {
    auto const parameters = uts(parse(minimal, {"problem.tree.type=binomial"})).parameters;

    EXPECT_EQ(parameters, (TreeParameters{.type = TreeType::binomial, .b = 4, .seed = 19}));
}

TEST(Overrides, an_error_shows_the_origin) {
    EXPECT_EQ(errors_of(minimal, {"search.thraeds=2"}),
              "--set search.thraeds=2: error: unknown key 'thraeds' in 'search'; did you mean 'threads'?");
    EXPECT_EQ(errors_of(minimal, {"serach.threads=2"}),
              "--set serach.threads=2: error: unknown key 'serach'; did you mean 'search'?");
    EXPECT_EQ(errors_of(minimal, {"search.max_time=10"}),
              "--set search.max_time=10: error: 'search.max_time' = 10 has no unit: use 10s");
}

TEST(Overrides, a_flag_is_named_as_the_origin) {
    try {
        (void)experiments().parse(minimal, "exp.yaml", {{"search.max_time", "10", "--max-time"}});
        FAIL() << "an error expected";
    } catch (ConfigError const& error) {
        EXPECT_STREQ(error.what(), "--max-time: error: 'search.max_time' = 10 has no unit: use 10s");
    }
}

TEST(Overrides, a_path_through_a_scalar_or_a_list_is_refused) {
    EXPECT_EQ(
        errors_of(minimal, {"search.threads.x=1"}),
        "--set search.threads.x=1: error: 'search.threads' must be auto or a whole number from 1 to 4096, not a map");
    EXPECT_THAT(errors_of(minimal + "cluster: [1]\n", {"cluster.group=1"}),
                StartsWith("exp.yaml:5:10: error: 'cluster' must be a map of keys, not a list\n"));
    EXPECT_THAT(errors_of(minimal + "cluster: [1]\n", {"cluster.group=1"}),
                HasSubstr("--set cluster.group=1: error: 'cluster.group' = 1 is out of range"));
}

TEST(Overrides, errors_of_the_file_come_first_and_those_of_overrides_in_their_order) {
    auto const report =
        errors_of(minimal + "trace: {limit: 1}\n", {"search.seed=x", "cluster.group=[1", "trace.enabled="});

    EXPECT_THAT(report, StartsWith("exp.yaml:5:16: error: 'trace.limit' = 1 is out of range"));
    EXPECT_THAT(report, HasSubstr("^\n--set search.seed=x: error: 'search.seed' must be"));
    EXPECT_THAT(report, HasSubstr("\n--set cluster.group=[1: error: not valid YAML: end of sequence flow not found\n"
                                  "--set trace.enabled=: error: 'trace.enabled' is empty"));
}

std::string path_of_flag(std::string const& value) {
    return experiments()
        .parse(minimal, "test.yaml", {{"results.path", value, "--results", Override::Form::literal}})
        .results.path;
}

TEST(Overrides, a_flag_is_taken_as_it_stands) {
    for (std::string const name : {"runs/a #2", "~",
                                   "null",      "{}",
                                   "[a, b]",    "!tag x",
                                   "&a",        "*a",
                                   "a: b",      "- a",
                                   " a ",       "'a'",
                                   "\"a\"",     "a\nb",
                                   "a\tb",      "\x1b[31m",
                                   "%",         "@",
                                   "`",         "|",
                                   "---",       "#",
                                   "2",         "true",
                                   "\\x41",     "\u00fc\u0085\u2028"})
        EXPECT_EQ(path_of_flag(name), name);
}

TEST(Overrides, a_flag_survives_the_merged_experiment_that_other_ranks_read) {
    for (std::string const name : {"runs/a #2", "~", "{}", "!tag x", " a ", "\"a\"", "a\nb", "\x1b[31m", "\\x41"}) {
        auto config = parse(minimal);
        config.results.path = name;

        EXPECT_EQ(parse(to_yaml(config)).results.path, name);
    }
}

TEST(Overrides, a_flag_that_is_empty_or_no_text_is_refused) {
    EXPECT_THROW((void)path_of_flag(""), ConfigError);
    EXPECT_THROW((void)path_of_flag("\xff"), ConfigError);
}

TEST(Overrides, a_text_of_which_yaml_drops_a_part_is_refused) {
    EXPECT_THAT(errors_of(minimal, {"results.path=runs/a #2"}), HasSubstr("YAML reads only 'runs/a' of it"));
    EXPECT_THAT(errors_of(minimal, {"results.path=!tag b"}), HasSubstr("YAML reads only 'b' of it"));
    EXPECT_THAT(errors_of(minimal, {"results.path=&x b"}), HasSubstr("YAML reads only 'b' of it"));

    EXPECT_EQ(parse(minimal, {"results.path=\"runs/a #2\""}).results.path, "runs/a #2");
    EXPECT_EQ(parse(minimal, {"results.path=runs/a#2"}).results.path, "runs/a#2");
    EXPECT_EQ(parse(minimal, {"results.path= b "}).results.path, "b");
}

} // namespace
} // namespace espalier::config::testing
