#include "analysis/made_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numeric>

namespace espalier::analysis {
namespace {

using trace::Kind;

constexpr double close_enough = 1e-6;

TEST(Efficiency, one_of_two_ranks_idle_half_the_time) {
    MadeRun run(2);
    run.work(0, 1, 0, 10).work(1, 1, 0, 5).wait(1, 1, 5, 10);
    auto const a = run.analysed();
    EXPECT_NEAR(a.runtime, 10, close_enough);
    EXPECT_NEAR(a.efficiency.load_balance, 0.75, close_enough);
    EXPECT_NEAR(a.efficiency.communication, 1, close_enough);
    EXPECT_NEAR(a.efficiency.parallel, 0.75, close_enough);
    EXPECT_NEAR(a.efficiency.mpi, 0.75, close_enough);
    EXPECT_NEAR(a.efficiency.openmp, 1, close_enough);
    EXPECT_NEAR(a.ranks[1].in(Activity::wait), 5, close_enough);
}

TEST(Efficiency, one_of_two_threads_idle_half_the_time_is_a_matter_of_threads) {
    MadeRun run(1, 2);
    run.work(0, 1, 0, 10).work(0, 2, 0, 5).wait(0, 2, 5, 10);
    auto const e = run.analysed().efficiency;
    EXPECT_NEAR(e.parallel, 0.75, close_enough);
    EXPECT_NEAR(e.mpi, 1, close_enough);
    EXPECT_NEAR(e.openmp, 0.75, close_enough);
    EXPECT_NEAR(e.process, 1, close_enough);
    EXPECT_NEAR(e.thread, 0.75, close_enough);
    EXPECT_NEAR(e.openmp_region, 0.75, close_enough);
    EXPECT_NEAR(e.serial_region, 1, close_enough);
}

/// Rank 0: both threads 8 s of 10. Rank 1: one thread 6 s, the other 2 s within them, then nothing.
TEST(Efficiency, two_ranks_of_two_threads_in_both_forms) {
    MadeRun run(2, 2);
    run.work(0, 1, 0, 8).work(0, 2, 0, 8).work(1, 1, 0, 6).work(1, 2, 0, 2).wait(1, 1, 6, 10);
    auto const e = run.analysed().efficiency;
    EXPECT_NEAR(e.parallel, 24.0 / 40, close_enough);
    EXPECT_NEAR(e.load_balance, 6.0 / 8, close_enough);
    EXPECT_NEAR(e.communication, 0.8, close_enough);
    EXPECT_NEAR(e.mpi, 0.7, close_enough);
    EXPECT_NEAR(e.mpi_load_balance, 7.0 / 8, close_enough);
    EXPECT_NEAR(e.mpi_communication, 0.8, close_enough);
    EXPECT_NEAR(e.openmp, 0.6 / 0.7, close_enough);
    EXPECT_NEAR(e.process_load_balance, 0.9, close_enough);
    EXPECT_NEAR(e.thread, 0.9, close_enough);
    EXPECT_NEAR(e.openmp_region, 0.9, close_enough);
}

/// A rank that commits while nobody works is not waiting for messages: that time is serial.
TEST(Efficiency, work_of_the_communicating_thread_alone_is_a_serial_region) {
    MadeRun run(2);
    run.work(0, 1, 0, 6).wait(0, 1, 6, 10).span(0, 0, Kind::commit, 5, 8).work(1, 1, 0, 10);
    auto const e = run.analysed().efficiency;
    EXPECT_NEAR(e.mpi, 0.9, close_enough);
    EXPECT_NEAR(e.serial_region, 0.9, close_enough);
    EXPECT_NEAR(e.openmp_region, 1, close_enough);
    EXPECT_NEAR(e.thread, 0.9, close_enough);
}

/// There is nobody to wait for: where a single rank does not work, that is a matter of its threads.
TEST(Efficiency, a_rank_alone_loses_nothing_to_messages) {
    MadeRun run(1);
    run.work(0, 1, 0, 6).span(0, 0, Kind::commit, 5, 8).wait(0, 1, 6, 10);
    auto const e = run.analysed().efficiency;
    EXPECT_NEAR(e.parallel, 0.6, close_enough);
    EXPECT_NEAR(*e.transfer, 1, close_enough);
    EXPECT_NEAR(e.mpi, 1, close_enough);
    EXPECT_NEAR(e.process, 1, close_enough);
    EXPECT_NEAR(e.serial_region, 0.6, close_enough);
}

/// Threads that share cores are busy, not idle: no balance or network would help them.
TEST(Efficiency, work_without_a_core_is_told_apart) {
    MadeRun run(1);
    run.add(0, {.start_ns = 0, .duration_ns = ns(10), .useful_ns = ns(4), .id = run.id(0, 1), .thread = 1});
    EXPECT_NEAR(run.analysed().efficiency.parallel, 1, close_enough);
    EXPECT_NEAR(run.analysed().efficiency.core_share, 0.4, close_enough);
}

/// Rank 0 sends work at 4 s, rank 1 sees it at 6 s and works until 10 s. Without a network it would have ended at 8 s.
TEST(Replay, a_message_that_takes_two_seconds_costs_two_seconds) {
    MadeRun run(2);
    run.work(0, 1, 0, 4).wait(0, 1, 4, 10).wait(1, 1, 0, 6).work(1, 1, 6, 10).message(0, 1, 4, 6);
    auto const e = run.analysed().efficiency;
    ASSERT_TRUE(e.transfer && e.serialisation);
    EXPECT_NEAR(*e.transfer, 0.8, close_enough);
    EXPECT_NEAR(*e.serialisation, 0.5, close_enough);
}

/// While a run is ending all wait, but not for messages.
TEST(Replay, the_end_of_a_run_is_not_the_networks) {
    MadeRun run(2);
    run.work(0, 1, 0, 4).work(1, 1, 0, 4).message(0, 1, 3, 3).wait(0, 1, 4, 5).wait(1, 1, 4, 5);
    EXPECT_NEAR(*run.analysed().efficiency.transfer, 1, close_enough);
}

/// The chain 0 -> 1 -> 0: both delays are saved.
TEST(Replay, delays_add_up_along_a_chain) {
    MadeRun run(2);
    run.work(0, 1, 0, 2).message(0, 1, 2, 3).work(1, 1, 3, 5).message(1, 0, 5, 7).work(0, 1, 7, 10);
    auto const e = run.analysed().efficiency;
    EXPECT_NEAR(*e.transfer, 0.7, close_enough);
}

/// A rank that works when a message comes did not wait for it.
TEST(Replay, a_message_to_a_busy_rank_saves_nothing) {
    MadeRun run(2);
    run.work(0, 1, 0, 2).message(0, 1, 2, 9).work(1, 1, 0, 10);
    EXPECT_NEAR(*run.analysed().efficiency.transfer, 1, close_enough);
}

TEST(Replay, a_wait_whose_sender_left_no_trace_stays_as_long_as_it_was) {
    MadeRun run(2);
    run.work(0, 1, 0, 4).message(0, 1, 4, 6).work(1, 1, 6, 10);
    auto const folder = run.write();
    std::filesystem::remove(run.shard(0));
    auto source = open_trace(folder);
    auto const a = analyse(source);
    EXPECT_NEAR(*a.efficiency.transfer, 1, close_enough);
    EXPECT_THAT(a.remarks, testing::Contains(testing::HasSubstr("rank-000000.h5")));
    EXPECT_THAT(a.remarks, testing::Contains(testing::HasSubstr("whose sender is not in the trace: 1")));
}

/// Whatever happened: products and sums hold, and nothing is out of range.
RC_GTEST_PROP(Efficiency, identities_hold_on_every_trace, ()) {
    auto const ranks = *rc::gen::inRange(1, 4);
    auto const threads = *rc::gen::inRange(1, 4);
    MadeRun run(ranks, threads);
    for (int rank = 0; rank < ranks; ++rank)
        for (int thread = 1; thread <= threads; ++thread) {
            double at = 0;
            for (auto const length : *rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 1000))) {
                auto const to = at + 1e-3 * length;
                auto const kind = *rc::gen::element(Kind::chunk, Kind::chunk, Kind::wait, Kind::verify);
                run.span(rank, thread, kind, at, to);
                if (*rc::gen::inRange(0, 4) == 0) run.message(rank, (rank + 1) % ranks, at, to);
                if (*rc::gen::inRange(0, 5) == 0) run.span(rank, 0, Kind::commit, at, to);
                at = to;
            }
        }
    run.work(0, 1, 1000, 1001);
    auto const a = run.analysed();
    auto const& e = a.efficiency;
    auto const near = [](double x, double y) { return std::abs(x - y) < 1e-9; };
    RC_ASSERT(near(e.parallel, e.load_balance * e.communication));
    RC_ASSERT(near(e.communication, *e.serialisation * *e.transfer));
    RC_ASSERT(near(e.parallel, e.mpi * e.openmp));
    RC_ASSERT(near(e.mpi, e.mpi_load_balance * e.mpi_communication));
    RC_ASSERT(near(e.openmp, e.openmp_load_balance * e.openmp_communication));
    RC_ASSERT(near(1 - e.parallel, (1 - e.process) + (1 - e.thread)));
    RC_ASSERT(near(1 - e.process, (1 - e.process_load_balance) + (1 - e.process_communication)));
    RC_ASSERT(near(1 - e.thread, (1 - e.openmp_region) + (1 - e.serial_region)));
    for (auto const value : {e.parallel, e.load_balance, e.communication, *e.serialisation, *e.transfer, e.mpi,
                             e.openmp, e.process, e.thread, e.openmp_region, e.serial_region})
        RC_ASSERT(value >= -1e-9 && value <= 1 + 1e-9);
    for (auto const& rank : a.ranks)
        for (auto const& thread : rank.threads)
            RC_ASSERT(std::abs(std::accumulate(thread.in.begin(), thread.in.end(), 0.0) - a.runtime) < 1e-6);
}

} // namespace
} // namespace espalier::analysis
