/// Searches one after the other on the same ranks, which do not wait for each other in between.

#include "espalier/cluster/rounds.hpp"

#include "espalier/base/log.hpp"
#include "espalier/cluster/search.hpp"
#include "support/memory_journal.hpp"
#include "support/toys.hpp"

#include <gtest/gtest.h>

#include <thread>

using namespace espalier;
using namespace espalier::cluster;
using base::Bytes;

namespace {

Bytes bytes(int value) { return {std::byte(value), std::byte(7)}; }

struct Pair : testing::Test {
    std::vector<std::unique_ptr<Communicator>> comms = make_in_process(2);
    Rounds first{*comms[0]}, second{*comms[1]};
};
using RoundsOfTwo = Pair;

} // namespace

TEST_F(RoundsOfTwo, messages_arrive_as_they_were_sent) {
    first.send(base::Rank{1}, bytes(1));
    first.send(base::Rank{1}, {});

    auto const one = second.receive();
    EXPECT_EQ(one->bytes, bytes(1));
    EXPECT_EQ(one->from, base::Rank{0});
    EXPECT_EQ(second.receive()->bytes, Bytes());
    EXPECT_FALSE(second.receive());
}

TEST_F(RoundsOfTwo, messages_of_an_earlier_round_are_dropped) {
    first.send(base::Rank{1}, bytes(1));
    second.next();
    first.next();
    first.send(base::Rank{1}, bytes(2));

    EXPECT_EQ(second.receive()->bytes, bytes(2));
    EXPECT_FALSE(second.receive());
}

TEST_F(RoundsOfTwo, messages_of_a_later_round_wait_in_their_order) {
    first.next();
    first.send(base::Rank{1}, bytes(1));
    first.send(base::Rank{1}, bytes(2));
    EXPECT_FALSE(second.receive());

    second.next();
    first.send(base::Rank{1}, bytes(3));

    for (int i = 1; i <= 3; ++i) EXPECT_EQ(second.receive()->bytes, bytes(i)) << i;
}

TEST(RoundsOfSearches, every_one_is_complete_although_ranks_begin_it_at_different_times) {
    base::log::configure({.level = base::log::Level::quiet});
    constexpr int ranks = 3, searches = 12;
    auto const problem = search::erase(toys::Timed{.options = {.measure_ns = 0}});
    SearchOptions options{.shows_progress = false};
    options.trace.is_enabled = false;
    auto const comms = make_in_process(ranks);
    std::vector<std::thread> others;
    for (int r = 1; r < ranks; ++r)
        others.emplace_back([&, r] {
            Rounds rounds(*comms[static_cast<std::size_t>(r)]);
            for (int i = 0; i < searches; ++i, rounds.next()) (void)cluster::search(*problem, options, rounds, nullptr);
        });
    Rounds rounds(*comms[0]);
    for (int i = 0; i < searches; ++i, rounds.next()) {
        toys::MemoryJournal journal;

        auto const outcome = cluster::search(*problem, options, rounds, &journal);

        EXPECT_EQ(outcome.reason, search::StopReason::complete) << i;
        EXPECT_EQ(outcome.counts.nodes, 63u) << i;
        EXPECT_EQ(outcome.lost_ranks, 0) << i;
    }
    for (auto& thread : others) thread.join();
}
