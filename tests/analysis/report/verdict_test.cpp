#include "page_case.hpp"

#include <map>

namespace espalier::analysis::report {
namespace {

TEST_F(Page, threads_without_cores_are_the_verdict_and_nothing_is_called_good) {
    trace_.efficiency.parallel = 0.91;
    trace_.efficiency.core_share = 0.374;

    auto const verdict = section(page(full()), "verdict");

    EXPECT_THAT(verdict, HasSubstr("had a core only 37.4 % of the time"));
    EXPECT_THAT(verdict, HasSubstr("efficiencies mean nothing yet"));
    for (auto const* text : {"91.0 %", "(good)", "largest loss"}) EXPECT_THAT(verdict, Not(HasSubstr(text)));
    EXPECT_EQ(data(page(full()))["trace"]["verdict"], verdict_text(trace_));
}

TEST_F(Page, every_word_of_verification_is_counted) {
    auto& results = summary_.record.results;
    results.push_back({13, 60, 0, search::Verification::partial, "three\n", {}});
    results.push_back({14, 61, 0, search::Verification::partial, "four\n", {}});
    results.push_back({15, 62, 0, search::Verification::counted, "five\n", {}});

    EXPECT_THAT(section(page(full()), "verdict"), HasSubstr("1 counted, 1 random, 1 proved, 2 partial"));
}

TEST_F(Page, measured_costs_come_with_their_noise) {
    auto contents = full();
    contents.cost.source = "measured";
    contents.cost.noise = 0.015;

    EXPECT_THAT(section(page(contents), "verdict"), HasSubstr("1.25x as fast as the input (measured, ± 1.5 %)"));
}

TEST_F(Page, hints_say_what_they_would_gain) {
    trace_.hint_gains = {12.5};

    EXPECT_THAT(section(page(full()), "verdict"), HasSubstr("sooner. (up to 12.5 thread seconds)</li>"));
}

TEST_F(Page, few_samples_say_nothing) {
    auto const phases = [&](std::int64_t samples) {
        for (auto& rank : trace_.ranks)
            for (auto& outcome : rank.outcomes) outcome.samples = samples;
        std::map<std::string, std::uint64_t> found; // sampled ones, and their samples
        auto const where = data(page(full()))["trace"]["where"];
        for (auto const& one : where)
            if (one["of"] == "sample") found[one["name"]] = one["samples"];
        return found;
    };

    EXPECT_TRUE(phases(16).empty()); // 3 ranks x 2 outcomes, and as many parts: 96 of each
    EXPECT_EQ(phases(17).at("nodes expanded"), 51u);
    EXPECT_EQ(phases(17).at("refused: shape"), 51u);
}

TEST_F(Page, a_rank_alone_does_not_wait_for_others) {
    trace_ = samples::trace(1);
    trace_.efficiency.serial_region = 0.5;
    EXPECT_THAT(section(page(full()), "verdict"), HasSubstr("no thread had work"));

    trace_ = samples::trace(2);
    trace_.efficiency.process_communication = 0.5;
    EXPECT_THAT(section(page(full()), "verdict"), HasSubstr("ranks that all waited for messages"));
}

TEST_F(Page, a_live_run_is_told_by_its_last_record_and_how_old_it_is) {
    summary_.is_live = true;
    summary_.looked_s = 1003;
    auto& record = summary_.record;
    record.stop_reason = record.executions.back().stop_reason = "running";
    record.executions.back().seconds = 0;
    record.counts.nodes = 185;
    record.progress.back() = {.elapsed_s = 9.9, .nodes = 569'000, .execution = 1, .wall_s = 1000};

    auto const verdict = section(page(full()), "verdict");

    for (auto const* text : {"569,000", "57.5 k per second", "9.9 s", "3.0 s old when this page was made",
                             "the 185 nodes committed by then"})
        EXPECT_THAT(verdict, HasSubstr(text));
}

} // namespace
} // namespace espalier::analysis::report
