#include "espalier/base/progress.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace espalier::base {
namespace {

constexpr std::int64_t ms = 1'000'000;

ProgressRecord record() {
    return {.elapsed_s = 200,
            .nodes = 4'130'071,
            .nodes_per_s = 20'650,
            .queued = 7,
            .idle_threads = 1,
            .threads = 4,
            .results = 3,
            .best = 1.5,
            .lost_ranks = 0};
}

TEST(Progress, one_line_says_it_all) {
    EXPECT_EQ(progress_text(record()),
              "3 min 20 s | 4.13 M nodes | 20.6 k nodes/s | queue 7 | idle 1/4 | results 3 | best 1.5");
}

TEST(Progress, a_stage_is_named) {
    auto some = record();
    some.stage = "stage 3 of 12: one kernel, 3 block ops";

    EXPECT_TRUE(progress_text(some).ends_with("| best 1.5 | stage 3 of 12: one kernel, 3 block ops"));
}

TEST(Progress, no_best_is_a_dash_and_lost_ranks_are_named) {
    auto some = record();
    some.best = std::numeric_limits<double>::infinity();
    some.lost_ranks = 2;

    EXPECT_TRUE(progress_text(some).ends_with("| results 3 | best - | lost ranks 2"));
}

TEST(Progress, it_says_when_the_best_was_found) {
    auto some = record();
    some.improved_s = 138;

    EXPECT_TRUE(progress_text(some).ends_with("| results 3 | best 1.5, 1 min 2 s ago"));
}

TEST(Progress, a_terminal_is_redrawn_more_often_than_a_file_is_written) {
    ProgressLine const terminal({.is_terminal = true});
    ProgressLine const file({.is_terminal = false});

    EXPECT_TRUE(terminal.is_due(250 * ms));
    EXPECT_FALSE(terminal.is_due(249 * ms));
    EXPECT_FALSE(file.is_due(4999 * ms));
    EXPECT_TRUE(file.is_due(5000 * ms));
}

TEST(Progress, a_disabled_line_is_never_due) {
    EXPECT_FALSE(ProgressLine({.is_enabled = false}).is_due(std::numeric_limits<std::int64_t>::max()));
}

TEST(Progress, a_line_to_a_file_is_plain) {
    ProgressLine line({.is_terminal = false});
    ::testing::internal::CaptureStderr();

    line.show(record(), 0);
    line.clear();

    EXPECT_EQ(::testing::internal::GetCapturedStderr(), progress_text(record()) + "\n");
    EXPECT_FALSE(line.is_due(1));
}

TEST(Progress, a_line_on_a_terminal_redraws_and_is_removed) {
    ProgressLine line({.is_terminal = true});
    ::testing::internal::CaptureStderr();

    line.show(record(), 0);
    line.clear();
    line.clear();

    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "\r\033[K" + progress_text(record()) + "\r\033[K");
}

} // namespace
} // namespace espalier::base
