#include "espalier/cluster/agent.hpp"

#include "support/fake_pool.hpp"

#include <gtest/gtest.h>

using namespace espalier;
using namespace espalier::cluster;
using base::Rank;
using toys::FakePool;

namespace {

constexpr std::int64_t second = 1'000'000'000;

search::ProblemInfo info() { return {.kind = "test", .reasons = {"leaf"}}; }

Agent::Options options(int self, int ranks, int group) {
    return {.self = Rank{self},
            .layout = {.ranks = ranks, .group = group},
            .cluster = {.budget = base::Nanoseconds(8 * second),
                        .commit = base::Nanoseconds(30 * second),
                        .lease = base::Nanoseconds(4 * second)},
            .host = "here"};
}

} // namespace

TEST(Agent, numbers_what_it_sends_in_the_order_of_sending) {
    FakePool pool;
    Agent agent(info(), pool, options(1, 2, 200), {}, 0);
    agent.start(0);
    agent.on_message(Rank{0}, {{}, Welcome{.epoch = 1}}, 0);
    agent.on_message(Rank{0}, {{}, Order{.epoch = 1, .kind = OrderKind::commit}}, 0);
    agent.tick(0);

    auto const said = agent.take_outgoing();

    ASSERT_EQ(said.size(), 3u);
    for (std::size_t i = 0; i < said.size(); ++i) EXPECT_EQ(said[i].message.header.sequence, i + 1);
}

/// Its own threads decline to give: the master wants to ask again a millisecond later, long before the link's next
/// pulse.
TEST(Agent, wakes_when_its_master_has_something_to_ask) {
    constexpr std::int64_t ms = 1'000'000;
    FakePool pool;
    Agent agent(info(), pool, options(0, 2, 200), {}, 0);
    agent.start(0);
    pool.add(toys::nodes(9));
    agent.tick(0);
    agent.on_message(Rank{1}, {{}, Hello{.threads = 1}}, 0);
    agent.on_message(Rank{1}, {{}, Pulse{.epoch = 1, .threads = 1, .idle_threads = 1, .hunger = Hunger::idle}}, 0);
    agent.tick(300 * ms); // by then its own link has said what it has
    agent.tick(1300 * ms);
    agent.tick(2300 * ms);

    EXPECT_LE(agent.next_wake_ns(), 2301 * ms);
}

TEST(Agent, a_group_has_said_all_when_its_last_member_has) {
    FakePool pool;
    Agent agent(info(), pool, options(2, 4, 2), {}, 0);
    agent.start(0);
    agent.on_message(Rank{3}, {{}, Hello{.threads = 1}}, 0);
    (void)agent.take_outgoing();

    agent.say_farewell({.cpu_seconds = 3, .peak_rss_bytes = 9}, 0);
    EXPECT_FALSE(agent.is_finished());
    EXPECT_TRUE(agent.take_outgoing().empty());
    agent.on_message(Rank{3}, {{}, Farewell{.epoch = 1, .cpu_seconds = 4, .peak_rss_bytes = 5}}, 0);
    auto const said = agent.take_outgoing();

    EXPECT_TRUE(agent.is_finished());
    ASSERT_EQ(said.size(), 1u);
    EXPECT_EQ(said[0].to, Rank{0});
    EXPECT_EQ(said[0].message.header.level, 1);
    auto const& sum = std::get<Farewell>(said[0].message.body);
    EXPECT_EQ(sum.ranks, 2);
    EXPECT_EQ(sum.cpu_seconds, 7);
    EXPECT_EQ(sum.peak_rss_bytes, 9u);
}
