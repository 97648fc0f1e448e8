#include "espalier/analysis/report/report.hpp"

#include "samples.hpp"

#include <gmock/gmock.h>

#include <regex>

namespace espalier::analysis::report {
namespace {

using base::Json;
using testing::HasSubstr;
using testing::Not;

std::size_t count(std::string const& text, std::string_view what) {
    std::size_t found = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++found;
    return found;
}

/// Between the two texts, which are there.
std::string between(std::string const& text, std::string_view from, std::string_view to) {
    auto const start = text.find(from);
    EXPECT_NE(start, std::string::npos) << from;
    auto const end = text.find(to, start + from.size());
    EXPECT_NE(end, std::string::npos) << to;
    return text.substr(start + from.size(), end - start - from.size());
}

/// As a browser finds it: up to the first end tag, whatever it is in.
std::string raw_data(std::string const& html) {
    return between(html, "<script type=\"application/json\" id=\"data\">", "</script");
}
Json data(std::string const& html) { return Json::parse(raw_data(html)); }

std::string section(std::string const& html, std::string const& id) {
    return between(html, "<section id=\"" + id + "\"", "</section>");
}

class Page : public testing::Test {
protected:
    [[nodiscard]] Contents full() const { return samples::contents(summary_, trace_); }
    RunSummary summary_ = samples::summary();
    Analysis trace_ = samples::trace(3);
};

TEST_F(Page, is_one_file_that_asks_for_nothing) {
    auto const html = page(full());

    EXPECT_TRUE(html.starts_with("<!doctype html>"));
    EXPECT_THAT(html, HasSubstr("default-src 'none'"));
    std::regex const reference("(src|href|action|poster|data)=\"([^\"]*)\"");
    for (std::sregex_iterator at(html.begin(), html.end(), reference), end; at != end; ++at) {
        auto const target = (*at)[2].str();
        EXPECT_TRUE(target.starts_with("#") || target.starts_with("data:")) << target;
    }
    EXPECT_THAT(html, Not(HasSubstr("@import")));
    EXPECT_THAT(html, Not(HasSubstr("url(")));
    EXPECT_THAT(html, Not(HasSubstr("{{")));
}

TEST_F(Page, says_the_verdict_without_a_script) {
    auto const verdict = section(page(full()), "verdict");

    for (auto const* text : {"complete", "mugraph", "4,130,071", "47.5 us", "1.25x", "10.0 s", "3 × 2", "84.0 %",
                             "1 proved", "a smaller cluster.budget"})
        EXPECT_THAT(verdict, HasSubstr(text));
    // 1 - 0.9 is the largest of the four losses 0.02, 0.03, 0.1 and 0.01
    EXPECT_THAT(verdict, HasSubstr("10.0 %"));
    EXPECT_THAT(verdict, HasSubstr("OpenMP region"));
}

TEST_F(Page, lists_the_results_and_the_input_without_a_script) {
    auto const results = section(page(full()), "results");

    EXPECT_THAT(results, HasSubstr("<th scope=\"col\" class=\"number\">cost us</th>"));
    EXPECT_THAT(results, HasSubstr("<td class=\"number\" data-value=\"47.5\">47.5</td>"));
    EXPECT_THAT(results, HasSubstr("<td>input</td>"));
    EXPECT_THAT(results, HasSubstr("estimates for a100"));
    EXPECT_EQ(count(results, "<img "), 2u);
}

TEST_F(Page, drawings_are_images_so_that_their_ids_do_not_clash) {
    auto const html = page(full());

    EXPECT_EQ(count(html, "src=\"data:image/svg+xml;base64,PHN2Zy"), 2u); // <svg
    EXPECT_THAT(html, Not(HasSubstr("id=\"a\"")));
}

TEST_F(Page, says_how_many_of_the_results_it_lists) {
    summary_.record.results.resize(719);

    EXPECT_THAT(page(full()), HasSubstr("The best 2 of 719 results"));
}

TEST_F(Page, tells_every_field_of_an_execution_and_the_command) {
    auto const html = page(full());
    auto const provenance = section(html, "provenance");

    for (auto const* text :
         {"espalier search mlp.yaml --threads 2", "0.1.0", "abc123", "GNU 12.2 -O2",
          "node1 (ranks 0-1), node2 (rank 2)", "0-3", "2026-01-31T12:00:00Z", "2026-01-31T12:00:10Z", "10.000 s",
          "48.500 s", "3.0 MiB", "1,234", "search 40.000", "kind: mugraph", "tests: 2", "seed: 42"})
        EXPECT_THAT(provenance, HasSubstr(text));
    EXPECT_THAT(section(html, "reproduce"),
                HasSubstr("<pre id=\"command\">mpiexec -n 3 espalier search mlp.yaml --threads 2</pre>"));
}

TEST_F(Page, one_rank_needs_no_launcher) {
    summary_.record.executions[0].ranks = 1;

    EXPECT_THAT(section(page(full()), "reproduce"),
                HasSubstr("<pre id=\"command\">espalier search mlp.yaml --threads 2</pre>"));
}

TEST_F(Page, hostile_text_stays_text) {
    std::string const hostile =
        "</script></pre></title></style><!--<script>alert(1)</script><img src=x onerror=alert(1)>\"'&{{data}}";
    summary_.folder = "results/" + hostile;
    summary_.record.problem_kind = hostile;
    summary_.record.config = summary_.record.identity.problem = hostile;
    auto& execution = summary_.record.executions[0];
    execution.command_line = execution.build = execution.affinity = execution.version = execution.commit = hostile;
    execution.hosts = {hostile, hostile, hostile};
    trace_.ranks[0].host = hostile;
    trace_.ranks[0].outcomes[0].name = hostile;
    trace_.hints = trace_.remarks = {hostile};
    auto contents = full();
    contents.results[0]["key"] = hostile;
    contents.results[0][hostile] = 1;
    contents.input["text"] = contents.input["hardware"] = hostile;
    contents.drawings = {{hostile, hostile, hostile}};
    contents.funnel = contents.trace_note = contents.scaling_note = hostile;
    contents.scaling["remarks"] = {hostile};

    auto const html = page(contents);

    EXPECT_EQ(count(html, "<script"), 2u);
    EXPECT_EQ(count(html, "</script"), 2u);
    EXPECT_EQ(count(html, "<!--"), 0u);
    EXPECT_EQ(count(html, "<img src=x"), 0u);
    EXPECT_EQ(count(html, "</style"), 1u);
    EXPECT_EQ(count(html, "<title"), 1u);
    EXPECT_THAT(raw_data(html), Not(HasSubstr("<")));
    EXPECT_EQ(data(html)["trace"]["ranks"][0][1], hostile);
    EXPECT_EQ(data(html)["trace"]["remarks"][0], hostile);
}

TEST_F(Page, text_that_is_not_utf8_does_not_stop_it) {
    trace_.ranks[0].host = "no\xff\xfe";

    EXPECT_EQ(data(page(full()))["trace"]["ranks"][0][1], "no\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST_F(Page, the_funnel_is_drawn_from_the_problems_own_telling) {
    auto const funnel = data(page(full()))["funnel"];

    ASSERT_EQ(funnel.size(), 5u); // the last line is a sentence
    EXPECT_EQ(funnel[2],
              Json({{"name", "shape"}, {"count", 36566512}, {"is_kept", false}, {"note", "operands do not fit"}}));
    EXPECT_EQ(funnel[3]["name"], "2nd shape");
    EXPECT_EQ(funnel[4]["is_kept"], true);
}

TEST_F(Page, without_one_the_funnel_has_nodes_reasons_and_results) {
    auto contents = full();
    contents.funnel.clear();
    auto const html = page(contents);
    auto const funnel = data(html)["funnel"];

    ASSERT_EQ(funnel.size(), 4u);
    EXPECT_EQ(funnel[0]["count"], 4130071);
    EXPECT_EQ(funnel[1]["name"], "refuted");
    EXPECT_EQ(funnel[1]["count"], 7);
    EXPECT_EQ(funnel[3]["count"], 2);
    EXPECT_THAT(section(html, "funnel"), HasSubstr("54,298,128"));
}

TEST_F(Page, progress_has_no_best_cost_before_the_first_result) {
    auto const progress = data(page(full()))["progress"];

    EXPECT_TRUE(progress["best"][9].is_null());
    EXPECT_EQ(progress["best"][10], 59.5);
    EXPECT_EQ(progress["best"][29], 47.5);
    EXPECT_EQ(data(page(full()))["cost"]["input"], 59.5);
}

TEST_F(Page, where_the_time_went_names_the_extreme_ranks) {
    auto const where = data(page(full()))["trace"]["where"][0];

    EXPECT_EQ(where["name"], "useful (CPU)");
    EXPECT_DOUBLE_EQ(where["min"], 8.8);
    EXPECT_EQ(where["min_rank"], 2);
    EXPECT_DOUBLE_EQ(where["mean"], 8.9);
    EXPECT_DOUBLE_EQ(where["max"], 9.0);
    EXPECT_EQ(where["max_rank"], 0);
}

TEST_F(Page, outcomes_are_summed_over_the_ranks) {
    auto const outcomes = data(page(full()))["trace"]["outcomes"];

    EXPECT_EQ(outcomes[0], Json({{"name", "expand"}, {"seconds", 18.0}, {"is_part", false}}));
    EXPECT_EQ(outcomes[1], Json({{"name", "refuted"}, {"seconds", 6.0}, {"is_part", false}}));
    EXPECT_EQ(outcomes[2], Json({{"name", "expand: shape"}, {"seconds", 3.0}, {"is_part", true}}));
}

/// RFC 4648, section 10, has "Zg==" for "f" and so on; here a share is a byte, 0x66 is "f".
TEST_F(Page, shares_of_the_timeline_are_bytes_in_base64) {
    auto const f = 102.0f / 255, o = 111.0f / 255, b = 98.0f / 255;
    trace_.timeline.rows[0].busy = {f};
    trace_.timeline.rows[0].query = {f, o};
    trace_.timeline.rows[0].verify = {f, o, o, b};
    trace_.timeline.rows[0].wait = {0, 1, 2};

    auto const row = data(page(full()))["trace"]["timeline"]["rows"][0];

    EXPECT_EQ(row["busy"], "Zg==");
    EXPECT_EQ(row["query"], "Zm8=");
    EXPECT_EQ(row["verify"], "Zm9vYg==");
    EXPECT_EQ(row["wait"], "AP//");
    EXPECT_EQ(row["host"], "node1");
}

TEST_F(Page, a_large_run_stays_a_small_file) {
    auto const large = samples::trace(4096);
    auto const html = page(samples::contents(summary_, large));
    auto const trace = data(html)["trace"];

    EXPECT_EQ(trace["all_ranks"], 4096);
    EXPECT_EQ(trace["ranks"].size(), 1024u);
    EXPECT_EQ(trace["left_out_ranks"], 3072);
    EXPECT_EQ(trace["where"][0]["max_rank"], 0);
    EXPECT_LT(html.size(), 2u << 20);
}

TEST_F(Page, empty_parts_say_why) {
    RunSummary summary;
    summary.folder = "run";
    summary.record.problem_kind = "uts";
    summary.record.info.is_counting = true;

    auto const html = page({.summary = summary,
                            .trace_note = "There is no trace: it was switched off.",
                            .scaling_note = "Left out on request (--nodes none)."});

    EXPECT_THAT(section(html, "results"), HasSubstr("there are no results to list"));
    EXPECT_THAT(section(html, "verdict"), HasSubstr("interrupted"));
    EXPECT_THAT(section(html, "verdict"), HasSubstr("efficiency is not known"));
    EXPECT_THAT(section(html, "provenance"), HasSubstr("names no executions"));
    EXPECT_THAT(section(html, "reproduce"), HasSubstr("No command was recorded"));
    EXPECT_TRUE(data(html)["trace"].is_null());
    EXPECT_EQ(data(html)["trace_note"], "There is no trace: it was switched off.");
    EXPECT_EQ(data(html)["scaling_note"], "Left out on request (--nodes none).");
}

} // namespace
} // namespace espalier::analysis::report
