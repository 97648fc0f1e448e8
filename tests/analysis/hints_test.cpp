#include "analysis/made_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace espalier::analysis {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using trace::Event;
using trace::Kind;

constexpr double close_enough = 1e-6;

TEST(Hints, one_subtree_that_all_wait_for_is_named) {
    MadeRun run(8);
    for (int rank = 0; rank < 8; ++rank) run.work(rank, 1, 0, 88).wait(rank, 1, 88, 100);
    run.work(5, 1, 88, 100);
    auto const hints = run.analysed({.policy = "hybrid"}).hints;
    EXPECT_THAT(hints, Contains(HasSubstr("the last 12 % of the time 7 of 8 ranks waited")));
    EXPECT_THAT(hints, Contains(HasSubstr("rank 5")));
    EXPECT_THAT(hints, Contains(HasSubstr("lower cluster.budget")));
    EXPECT_THAT(run.analysed({.policy = "static"}).hints, Contains(HasSubstr("use hybrid")));
}

/// One of two, and then the run takes its time to end.
TEST(Hints, one_rank_that_the_other_waits_for_is_named_and_so_is_the_end) {
    MadeRun run(2);
    run.work(0, 1, 0, 60).wait(0, 1, 60, 100).work(1, 1, 0, 80).wait(1, 1, 80, 100);
    auto const hints = run.analysed({.policy = "hybrid"}).hints;
    EXPECT_THAT(hints, Contains(HasSubstr("the last 20 % of the time that there was work 1 of 2 ranks waited")));
    EXPECT_THAT(hints, Contains(HasSubstr("the last 20 % of the time nobody had work")));
}

TEST(Hints, threads_without_a_core_are_noticed) {
    MadeRun run(1, 2);
    for (int thread = 1; thread <= 2; ++thread)
        run.add(0, {.duration_ns = ns(10),
                    .useful_ns = ns(5),
                    .id = run.id(0, thread),
                    .thread = static_cast<std::uint16_t>(thread)});
    auto const a = run.analysed();

    EXPECT_THAT(a.hints, testing::ElementsAre(HasSubstr("had a core only 50 % of the time")));
    EXPECT_NEAR(a.hint_gains.at(0), 10, close_enough); // two threads, half of 10 s each
}

/// Rank 1 waits half of the time, which is a loss of 50 thread seconds, if threads had cores; if they had none, that
/// comes first and alone, and nothing is called good.
TEST(Verdict, without_cores_nothing_else_is_said) {
    MadeRun run(2);
    run.add(0, {.duration_ns = ns(100), .useful_ns = ns(84), .id = run.id(0, 1), .thread = 1});
    run.add(1, {.duration_ns = ns(50), .useful_ns = ns(42), .id = run.id(1, 1), .thread = 1}).wait(1, 1, 50, 100);
    auto const a = run.analysed({.policy = "hybrid"});

    EXPECT_THAT(verdict_text(a), HasSubstr("had a core only 84.0 % of the time"));
    EXPECT_THAT(verdict_text(a), HasSubstr("the efficiencies mean nothing"));
    EXPECT_THAT(verdict_text(a), testing::Not(HasSubstr("largest loss")));
    EXPECT_EQ(a.hints.size(), 1u);
    EXPECT_EQ(to_json(a)["verdict"], verdict_text(a));
    EXPECT_EQ(to_json(a)["hint_gains"].size(), a.hints.size());
}

TEST(Verdict, with_cores_it_is_how_busy_the_threads_were_and_what_was_lost) {
    MadeRun run(2);
    run.work(0, 1, 0, 100).work(1, 1, 0, 50).wait(1, 1, 50, 100);

    auto const text = verdict_text(run.analysed());

    EXPECT_THAT(text,
                HasSubstr("busy with nodes 75.0 % of the time (fair). The largest loss, 25.0 %, is ranks that had"));
}

/// The start costs 15 of 100 s on 3 of 4 ranks; the end 30 s on all but one.
TEST(Hints, what_gains_most_comes_first) {
    MadeRun run(4);
    run.work(0, 1, 0, 100);
    for (int rank = 1; rank < 4; ++rank) run.wait(rank, 1, 0, 15).work(rank, 1, 15, 70).wait(rank, 1, 70, 100);
    auto const a = run.analysed({.policy = "hybrid"});

    ASSERT_EQ(a.hints.size(), a.hint_gains.size());
    EXPECT_TRUE(std::ranges::is_sorted(a.hint_gains, std::greater<>{}));
    auto const at = [&](std::string_view words) {
        return std::ranges::find_if(a.hints, [&](auto const& hint) { return hint.find(words) != std::string::npos; }) -
               a.hints.begin();
    };
    ASSERT_LT(at("the last 30 % of the time"), std::ssize(a.hints));
    ASSERT_LT(at("until half of the threads had work"), std::ssize(a.hints));
    EXPECT_LT(at("the last 30 % of the time"), at("until half of the threads had work"));
    EXPECT_NEAR(a.hint_gains[static_cast<std::size_t>(at("the last 30 % of the time"))], 90, 2);
    EXPECT_NEAR(a.hint_gains[static_cast<std::size_t>(at("until half of the threads had work"))], 45, 2);
}

TEST(Hints, a_run_without_faults_is_told_so) {
    MadeRun run(2);
    run.work(0, 1, 0, 10).work(1, 1, 0, 10);
    EXPECT_THAT(run.analysed().hints, testing::ElementsAre(HasSubstr("nothing stands out")));
}

// --- comparison ---

} // namespace
} // namespace espalier::analysis
