#include "experiments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::config::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Diagnostics, an_unknown_key_has_its_place_a_suggestion_and_a_caret) {
    EXPECT_EQ(errors_of(minimal + "search:\n  thraeds: 2\n"),
              "exp.yaml:6:3: error: unknown key 'thraeds' in 'search'; did you mean 'threads'?\n"
              "  thraeds: 2\n"
              "  ^");
}

TEST(Diagnostics, an_unknown_section_names_its_neighbour) {
    EXPECT_EQ(errors_of(minimal + "serach: {threads: 2}\n"),
              "exp.yaml:5:1: error: unknown key 'serach'; did you mean 'search'?\n"
              "serach: {threads: 2}\n"
              "^");
}

TEST(Diagnostics, a_key_that_is_like_none_gets_the_list_of_keys) {
    EXPECT_THAT(errors_of(minimal + "trace: {volume: 2}\n"),
                StartsWith("exp.yaml:5:9: error: unknown key 'volume' in 'trace'; known keys: enabled, limit\n"));
}

TEST(Diagnostics, all_errors_are_shown_in_the_order_of_the_text) {
    auto const report = errors_of("results: {path: runs/x, size: 3}\n"
                                  "search:\n"
                                  "  max_time: 10\n"
                                  "  threads: 0\n"
                                  "problem: {kind: uts, tree: T9}\n");

    EXPECT_EQ(report,
              "exp.yaml:1:25: error: unknown key 'size' in 'results'; known keys: path\n"
              "results: {path: runs/x, size: 3}\n"
              "                        ^\n"
              "exp.yaml:3:13: error: 'search.max_time' = 10 has no unit: use 10s\n"
              "  max_time: 10\n"
              "            ^\n"
              "exp.yaml:4:12: error: 'search.threads' = 0 is out of range: use auto or a whole number from 1 to 4096\n"
              "  threads: 0\n"
              "           ^\n"
              "exp.yaml:5:28: error: 'problem.tree' must be one of T1, T2, T3, T4, T5, T1L, T3L or a map of "
              "parameters, not 'T9'\n"
              "problem: {kind: uts, tree: T9}\n"
              "                           ^");
}

TEST(Diagnostics, the_error_counts_its_errors) {
    try {
        (void)parse(minimal + "search: {threads: 0, seed: -1}\n");
        FAIL() << "two errors expected";
    } catch (ConfigError const& error) {
        EXPECT_EQ(error.errors(), 2);
    }
}

TEST(Diagnostics, a_duplicate_key_is_refused_at_every_level) {
    EXPECT_EQ(errors_of(minimal + "results: {path: y}\n"),
              "exp.yaml:5:1: error: duplicate key 'results'; the first is at 4:1\n"
              "results: {path: y}\n"
              "^");
    EXPECT_THAT(errors_of(minimal + "search: {seed: 1, seed: 1}\n"),
                StartsWith("exp.yaml:5:19: error: duplicate key 'seed' in 'search'; the first is at 5:10\n"));
    EXPECT_THAT(errors_of("problem: {kind: uts, tree: {b: 2, b: 3}}\nresults: {path: x}\n"),
                StartsWith("exp.yaml:1:35: error: duplicate key 'b' in 'problem.tree'; the first is at 1:29\n"));
}

TEST(Diagnostics, a_list_where_a_map_belongs_is_refused) {
    EXPECT_EQ(errors_of(minimal + "cluster: [1]\n"),
              "exp.yaml:5:10: error: 'cluster' must be a map of keys, not a list\n"
              "cluster: [1]\n"
              "         ^");
}

TEST(Diagnostics, an_empty_section_is_refused_at_its_key) {
    EXPECT_EQ(errors_of(minimal + "trace:\n\n"),
              "exp.yaml:5:1: error: 'trace' is empty: make it a map of keys, or remove the key\n"
              "trace:\n"
              "^");
}

TEST(Diagnostics, an_empty_value_is_refused_at_its_key) {
    EXPECT_THAT(
        errors_of(minimal + "trace:\n  limit:\n  enabled: true\n"),
        StartsWith("exp.yaml:6:3: error: 'trace.limit' is empty: make it a size from 64KiB to 1TiB, or remove"));
}

TEST(Diagnostics, a_missing_key_is_asked_for_with_an_example) {
    EXPECT_EQ(
        errors_of("problem: {kind: uts}\n"),
        "exp.yaml:1:1: error: missing key 'results' (where the run is kept); add e.g. 'results: {path: runs/my-run}'\n"
        "problem: {kind: uts}\n"
        "^");
    EXPECT_THAT(errors_of("problem: {kind: uts}\nresults: {}\n"),
                StartsWith("exp.yaml:2:10: error: missing key 'path' in 'results' (folder of the run"));
    EXPECT_THAT(
        errors_of("problem: {tree: T1}\nresults: {path: x}\n"),
        StartsWith("exp.yaml:1:10: error: missing key 'kind' in 'problem' (which problem); add e.g. 'kind: uts'\n"));
}

TEST(Diagnostics, an_unknown_kind_of_problem_gets_the_list) {
    EXPECT_THAT(errors_of("problem: {kind: utss}\nresults: {path: x}\n"),
                StartsWith("exp.yaml:1:17: error: 'problem.kind' must be one of uts, mugraph, placement, substitution, "
                           "mutation, rewrite, not 'utss'; did you mean 'uts'?\n"));
}

TEST(Diagnostics, an_empty_file_is_explained) {
    for (auto const* text : {"", "\n\n", "# only a comment\n", "---\n"})
        EXPECT_THAT(errors_of(text), HasSubstr("error: the file is empty; an experiment needs at least 'problem'"))
            << text;
}

TEST(Diagnostics, a_document_that_is_no_map_is_refused) {
    EXPECT_EQ(errors_of("- 1\n- 2\n"), "exp.yaml:1:1: error: the experiment must be a map of keys, not a list\n- 1\n^");
    EXPECT_EQ(errors_of("hello\n"), "exp.yaml:1:1: error: the experiment must be a map of keys, not 'hello'\nhello\n^");
}

TEST(Diagnostics, a_second_document_is_refused) {
    EXPECT_EQ(errors_of(minimal + "---\nsearch: {}\n"),
              "exp.yaml:5:1: error: a second document; an experiment is a single one: remove the '---'\n"
              "---\n"
              "^");
}

TEST(Diagnostics, a_stray_comma_ends_the_reading) {
    EXPECT_EQ(errors_of(",\n"), "exp.yaml:1:1: error: not valid YAML: the experiment ends before this\n,\n^");
}

TEST(Diagnostics, a_syntax_error_has_its_place) {
    EXPECT_EQ(errors_of("problem: uts: T1\n"), "exp.yaml:1:13: error: not valid YAML: illegal map value\n"
                                               "problem: uts: T1\n"
                                               "            ^");
    EXPECT_EQ(errors_of("problem: {kind: uts\n"), "exp.yaml:2:1: error: not valid YAML: end of map flow not found");
}

TEST(Diagnostics, columns_count_characters_and_the_caret_follows_tabs) {
    EXPECT_EQ(errors_of(minimal + "search: {\"\xC3\xA4\": 1,\tseed: x}\n"),
              "exp.yaml:5:10: error: unknown key '\xC3\xA4' in 'search'; known keys: threads, max_time, max_nodes, "
              "max_results, "
              "memory, seed, verify_batch, best_only\n"
              "search: {\"\xC3\xA4\": 1,\tseed: x}\n"
              "         ^\n"
              "exp.yaml:5:24: error: 'search.seed' must be a whole number of at least 0, not 'x'\n"
              "search: {\"\xC3\xA4\": 1,\tseed: x}\n"
              "                \t      ^");
}

TEST(Diagnostics, windows_line_ends_and_a_byte_order_mark_do_not_matter) {
    EXPECT_EQ(errors_of("\xEF\xBB\xBFproblem: {kind: uts}\r\nresults: {path: x}\r\nsaerch: {}\r\n"),
              "exp.yaml:3:1: error: unknown key 'saerch'; did you mean 'search'?\n"
              "saerch: {}\n"
              "^");
}

TEST(Diagnostics, bytes_that_are_no_text_are_refused_where_they_are) {
    EXPECT_THAT(errors_of(std::string("problem: \x04\n")), StartsWith("exp.yaml:1:10: error: not text"));
    EXPECT_THAT(errors_of("a: 1\nb: \xFF\xFE\n"), StartsWith("exp.yaml:2:4: error: not text"));
}

TEST(Diagnostics, an_alias_is_read_and_an_endless_one_is_refused) {
    auto const config = parse(minimal + "search: {seed: &s 7, max_nodes: *s}\n");

    EXPECT_EQ(config.search.max_nodes, 7u);
    EXPECT_THAT(errors_of(minimal + "search: &a {seed: *a}\n"), HasSubstr("error: too deep or too large"));
}

TEST(Diagnostics, aliases_of_aliases_do_not_fill_the_memory) {
    std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 12; ++i) {
        auto const last = "*a" + std::to_string(i - 1);
        text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
        for (int j = 0; j < 9; ++j) text += ", " + last;
        text += "]\n";
    }

    EXPECT_THAT(errors_of(text), HasSubstr("error: too deep or too large"));
}

TEST(Diagnostics, merge_keys_and_keys_that_are_no_words_are_refused) {
    EXPECT_THAT(errors_of(minimal + "search: &s {seed: 1}\ncluster: {<<: *s}\n"),
                StartsWith("exp.yaml:6:11: error: merge keys ('<<') are not supported"));
    EXPECT_THAT(errors_of(minimal + "[1]: 2\n"), StartsWith("exp.yaml:5:1: error: a key must be a word"));
}

TEST(Diagnostics, a_thousand_errors_and_endless_words_make_a_short_report) {
    std::string many = minimal + "search: {";
    for (int i = 0; i < 1000; ++i) many += "k" + std::to_string(i) + ": 1, ";
    EXPECT_THAT(errors_of(many + "}\n"), HasSubstr("\nexp.yaml: and 900 more errors"));

    EXPECT_LT(errors_of(minimal + std::string(100'000, 'k') + ": 1\n").size(), 3000u);
    EXPECT_LT(errors_of(minimal + "search: {seed: " + std::string(100'000, 'k') + "}\n").size(), 3000u);
}

} // namespace
} // namespace espalier::config::testing
