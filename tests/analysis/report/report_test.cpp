#include "page_case.hpp"

#include <algorithm>
#include <regex>

namespace espalier::analysis::report {
namespace {

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
    EXPECT_THAT(results, HasSubstr("All results: verified: 1 random, 1 proved; cost: estimated."));
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

TEST_F(Page, says_in_the_words_of_the_problem_which_results_it_lists) {
    auto contents = full();
    contents.list_note = "one row per <form>";
    EXPECT_THAT(page(contents), HasSubstr("<caption>one row per &lt;form&gt;</caption>"));

    contents.results = base::Json::array();
    EXPECT_THAT(page(contents), HasSubstr("<p class=\"empty\">one row per &lt;form&gt;</p>"));
}

TEST_F(Page, a_column_may_be_a_part_of_an_object) {
    auto contents = full();
    contents.columns = {{"id", "id", ""}, {"numerics.rel_error", "rel. error", ""}, {"numerics.none", "none", ""}};
    contents.results[0]["numerics"] = {{"rel_error", 0.125}};
    contents.results[1]["numerics"] = nullptr;
    contents.input["numerics"] = {{"rel_error", 0.25}};

    auto const results = section(page(contents), "results");

    EXPECT_THAT(results, HasSubstr("rel. error</th>"));
    EXPECT_THAT(results, HasSubstr("data-value=\"0.125\""));
    EXPECT_THAT(results, HasSubstr("data-value=\"0.25\""));
    EXPECT_THAT(results, Not(HasSubstr("none</th>")));
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
    contents.advice = contents.known = contents.trace_note = contents.scaling_note = hostile;
    contents.funnel = {{hostile, 1, true, hostile}};
    contents.cost = {hostile, hostile, hostile, 1};
    contents.columns.push_back({hostile, hostile, hostile});
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

    ASSERT_EQ(funnel.size(), 5u);
    EXPECT_EQ(funnel[2],
              Json({{"name", "shape"}, {"count", 36566512}, {"is_kept", false}, {"note", "operands do not fit"}}));
    EXPECT_EQ(funnel[3]["name"], "2nd shape");
    EXPECT_EQ(funnel[4]["is_kept"], true);
}

TEST_F(Page, every_line_of_the_funnel_in_words_is_wrapped_on_its_own) {
    auto const words = section(page(full()), "funnel");

    EXPECT_EQ(count(words, "<span>"), 6u);
    EXPECT_THAT(
        words, HasSubstr("<span>  nothing found so far: most of the 32,656 ops ended as &#39;shape&#39;</span></pre>"));
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

    EXPECT_TRUE(progress["best"][10].is_null());
    EXPECT_EQ(progress["best"][11], 59.5);
    EXPECT_EQ(progress["best"][30], 47.5);
    EXPECT_EQ(progress["first"],
              Json({{"seconds", 0.33 * 10}, {"cost", 59.5}, {"is_stamped", false}})); // the last record without any
    EXPECT_EQ(data(page(full()))["cost"]["input"], 59.5);
}

TEST_F(Page, progress_goes_from_the_start_to_the_end_of_the_run) {
    auto const progress = data(page(full()))["progress"];

    ASSERT_EQ(progress["seconds"].size(), 32u); // 30 records
    EXPECT_EQ(progress["seconds"][0], 0);
    EXPECT_EQ(progress["nodes"][0], 0);
    EXPECT_EQ(progress["seconds"][31], 10);
    EXPECT_EQ(progress["nodes"][31], 4130071);
    EXPECT_EQ(progress["results"][31], 2);
    EXPECT_EQ(progress["best"][31], 47.5);
    EXPECT_TRUE(progress["queued"][31].is_null());
    EXPECT_EQ(progress["queued"][30], 0);
}

TEST_F(Page, rates_are_nodes_by_seconds_whatever_the_records_say) {
    auto const progress = data(page(full()))["progress"];

    EXPECT_NEAR(progress["rate"][30], 137'669 / 0.33, 1e-6);
    EXPECT_NEAR(progress["mean_rate"][30], 137'669 / 0.33, 1e-6);
    EXPECT_NEAR(progress["rate"][31], 1 / 0.1, 1e-6); // 4,130,071 - 30 x 137,669 nodes in the last 10 - 30 x 0.33 s
    EXPECT_DOUBLE_EQ(progress["mean_rate"][31], 413'007.1);
}

TEST_F(Page, a_run_that_was_over_at_once_has_curves_as_well) {
    summary_.record.progress.clear();
    summary_.record.results.front().cost = 60; // the first that was found; the second is the best

    auto const progress = data(page(full()))["progress"];

    EXPECT_EQ(progress["seconds"], Json({0.0, 10.0}));
    EXPECT_EQ(progress["nodes"], Json({0, 4130071}));
    EXPECT_EQ(progress["best"], Json({nullptr, 59.5}));
    EXPECT_EQ(progress["rate"][1], 413'007.1);
    EXPECT_EQ(progress["first"], Json({{"seconds", 0.0}, {"cost", 60.0}, {"is_stamped", false}}));
}

TEST_F(Page, time_goes_on_over_the_executions) {
    auto& record = summary_.record;
    record.executions.push_back(record.executions.front());
    record.progress = {{.elapsed_s = 4, .nodes = 40}, {.elapsed_s = 8, .nodes = 80}, {.elapsed_s = 1, .nodes = 90}};
    record.counts.nodes = 100;

    auto const progress = data(page(full()))["progress"];

    EXPECT_EQ(progress["seconds"], Json({0.0, 4.0, 8.0, 11.0, 20.0})); // 10 s each
    EXPECT_EQ(progress["mean_rate"][4], 5.0);
}

TEST_F(Page, a_run_that_goes_on_has_no_end) {
    summary_.is_live = true;
    EXPECT_EQ(data(page(full()))["progress"]["seconds"].size(), 31u);

    summary_.is_live = false;
    summary_.record.stop_reason = "running"; // killed
    EXPECT_EQ(data(page(full()))["progress"]["seconds"].size(), 31u);

    summary_.record.progress.clear();
    EXPECT_EQ(data(page(full()))["progress"]["seconds"].size(), 0u);
}

TEST_F(Page, numbers_are_for_people_and_sort_by_value) {
    auto contents = full();
    contents.columns.clear(); // a problem that names none: all its keys
    contents.results[0] = {
        {"large", 275416.9184}, {"whole", 7.0}, {"small", 1.25e-9}, {"zero", 0.0}, {"minus", -1234.5}};
    auto const results = section(page(contents), "results");

    for (auto const* cell :
         {"data-value=\"275416.9184\">275,416.9<", "data-value=\"7\">7<", "data-value=\"1.25e-09\">1.25e-9<",
          "data-value=\"0\">0<", "data-value=\"-1234.5\">-1,234.5<"})
        EXPECT_THAT(results, HasSubstr(cell));
}

TEST_F(Page, columns_stand_as_the_problem_names_them) {
    auto contents = full();
    contents.columns = {
        {"id", "id", ""}, {"predicted_us", "predicted", "us"}, {"gone", "gone", ""}, {"text", "program", ""}};
    contents.results[0] = {{"id", 1}, {"text", "(root, InsideGroup, AllReduce)"}, {"predicted_us", 7.5}};
    auto const results = section(page(contents), "results");

    EXPECT_LT(results.find("predicted us</th>"), results.find("program</th>"));
    EXPECT_NE(results.find("program</th>"), std::string::npos);
    EXPECT_EQ(results.find("gone</th>"), std::string::npos);
}

TEST_F(Page, up_to_ten_missing_shards_are_named) {
    for (int i = 1; i <= 10; ++i) summary_.missing.push_back("shard" + std::to_string(i) + ".h5");
    auto const ten = section(page(full()), "verdict");
    summary_.missing.insert(summary_.missing.end(), {"shard11.h5", "shard<12>.h5"});
    auto const twelve = section(page(full()), "verdict");

    EXPECT_THAT(ten, HasSubstr("10 trace shards are missing (<code>shard1.h5</code>, <code>shard2.h5</code>"));
    EXPECT_THAT(ten, HasSubstr("<code>shard10.h5</code>)"));
    EXPECT_THAT(twelve, HasSubstr("<code>shard10.h5</code> and 2 more)"));
    EXPECT_THAT(twelve, Not(HasSubstr("shard11")));
}

/// A thread expands (9 - r / 10) - 1 s on rank r and queries 0.8 s. Of the sampled 8 s, 6 were of expanded nodes, of
/// which 1 of 6 went into ops of the wrong shape.
TEST_F(Page, sampled_times_are_shares_of_the_measured_time) {
    auto const where = data(page(full()))["trace"]["where"];
    auto const named = [&](std::string const& name) {
        return *std::ranges::find(where, name, [](Json const& one) { return one["name"].get<std::string>(); });
    };

    EXPECT_EQ(where[0]["name"], "expand");
    EXPECT_DOUBLE_EQ(where[0]["mean"], 7.9);
    EXPECT_DOUBLE_EQ(where[0]["max"], 8.0);
    EXPECT_EQ(where[0]["max_rank"], "rank 0");
    EXPECT_EQ(where[0]["of"], "thread");
    EXPECT_NEAR(named("nodes expanded")["mean"], 8.7 * 6 / 8, 1e-12);
    EXPECT_EQ(named("nodes expanded")["level"], 1);
    EXPECT_EQ(named("nodes expanded")["of"], "sample");
    EXPECT_NEAR(named("refused: shape")["mean"], 8.7 * 1 / 8, 1e-12);
    EXPECT_EQ(named("refused: shape")["level"], 2);
    EXPECT_NEAR(named("pruned: refuted")["share"], 8.7 * 2 / 8 / 10, 1e-12);
}

TEST_F(Page, the_activities_of_busy_threads_are_told_apart) {
    for (auto& row : trace_.timeline.rows) row.verify = {0.25f, 0}, row.query = {0, 0.5f};
    trace_.timeline.busy = {6, 6};

    auto const timeline = data(page(full()))["trace"]["timeline"];

    EXPECT_EQ(timeline["verify"], Json({1.5, 0.0})); // 3 ranks of 2 threads
    EXPECT_EQ(timeline["query"], Json({0.0, 3.0}));
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
    EXPECT_EQ(trace["where"][0]["max_rank"], "rank 0");
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
