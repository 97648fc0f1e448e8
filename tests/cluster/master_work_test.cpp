/// How a master moves work: whom it feeds and with how much, whom it asks to give, when, and when again.

#include "master_fixture.hpp"

using namespace espalier;
using namespace espalier::cluster;
using base::Rank;

namespace {

constexpr std::int64_t ms = 1'000'000;

Pulse idle(std::uint64_t received = 0, std::uint32_t epoch = 1) {
    return {.epoch = epoch, .received = received, .threads = 1, .idle_threads = 1, .hunger = Hunger::idle};
}
Pulse rich(std::uint64_t unfinished, std::uint32_t epoch = 1, std::uint64_t received = 0) {
    return {.epoch = epoch, .received = received, .unfinished = unfinished, .spare = unfinished, .threads = 1};
}
Pulse declined(std::uint64_t unfinished = 50) {
    return {.epoch = 1, .unfinished = unfinished, .threads = 1, .has_declined = true};
}

/// A master with the members that a test asks for, all of them there.
struct OtherMasterTest : testing::Test {
    void make(std::vector<MemberInfo> const& members, BatchPolicy::Options const& policy = {}) {
        master = std::make_unique<Master>(info(), Master::Options{.members = members, .policy = policy}, 0);
    }
    void hear(int rank, Body body, std::int64_t now = 0) { master->on_message(Rank{rank}, {{}, std::move(body)}, now); }
    void hello(int rank) {
        hear(rank, Hello{.threads = 1});
        master->tick(0);
    }
    template <class T>
    std::vector<std::pair<int, T>> said() {
        std::vector<std::pair<int, T>> bodies;
        for (auto& outgoing : master->take_outgoing())
            if (auto* body = std::get_if<T>(&outgoing.message.body)) bodies.emplace_back(outgoing.to.value, *body);
        return bodies;
    }
    std::unique_ptr<Master> master;
};

} // namespace

// --- a rank that comes back is asked again

TEST_F(MasterTest, a_member_that_was_lost_with_an_order_to_give_is_asked_again_when_it_is_back) {
    hello(0);
    hello(1);
    say(1, rich(50));
    say(0, idle());
    ASSERT_EQ(said_to<Order>(1).size(), 1u); // and is lost before it answers
    say(0, idle(), 3 * second / 2);
    master.tick(2 * second);
    ASSERT_EQ(master.lost(), 1);

    say(1, rich(60, 2), 2 * second);

    auto orders = said_to<Order>(1);
    std::erase_if(orders, [](auto const& order) { return order.kind == OrderKind::none; }); // a sign of life
    ASSERT_EQ(orders.size(), 1u);
    EXPECT_EQ(orders[0].kind, OrderKind::give);
    EXPECT_EQ(orders[0].epoch, 2u);
}

TEST_F(MasterTest, members_that_were_asked_before_all_was_dropped_are_asked_again) {
    hello(0);
    hello(1);
    say(1, rich(50));
    say(0, idle());
    ASSERT_EQ(said_to<Order>(1).size(), 1u);
    master.drop_all();

    say(0, idle(0, 2));
    say(1, rich(60, 2));

    EXPECT_EQ(said_to<Order>(1).size(), 1u);
}

TEST_F(MasterTest, the_first_batch_after_a_loss_or_a_drop_is_number_one_again) {
    hello(1);
    master.add(nodes(6));
    for (int const epoch : {1, 2, 3}) {
        auto const now = (epoch - 1) * 2 * second;
        say(1, idle(0, static_cast<std::uint32_t>(epoch)), now);
        auto const batches = said_to<Batch>(1);
        ASSERT_EQ(batches.size(), 1u) << epoch;
        EXPECT_EQ(batches[0].number, 1u);
        if (epoch == 1) master.tick(2 * second); // lost
        if (epoch == 2) master.drop_all();
        if (epoch == 2) master.add(nodes(3));
    }
}

// --- who declines

TEST_F(MasterTest, who_declines_is_left_alone_for_twice_as_long_each_time_until_it_gives) {
    hello(0);
    hello(1);
    say(1, rich(50));
    say(0, idle());
    std::int64_t now = 0;
    for (auto const pause : {ms, 2 * ms, 4 * ms, 8 * ms}) {
        say(1, declined(), now);
        (void)master.take_outgoing();
        master.tick(now + pause - 1);
        EXPECT_TRUE(said_to<Order>(1).empty()) << pause;
        now += pause;
        EXPECT_EQ(master.next_wake_ns(), now);
        master.tick(now);
        EXPECT_EQ(said_to<Order>(1).size(), 1u) << pause;
    }
    say(1, commit(1, 0, 0, nodes(50), nodes(1)), now); // gives, and is asked and declines again
    say(0, idle(1), now);
    say(1, rich(50), now);
    say(1, declined(), now);
    (void)master.take_outgoing();

    master.tick(now + ms);

    EXPECT_EQ(said_to<Order>(1).size(), 1u);
}

TEST_F(MasterTest, who_declined_and_has_something_now_is_asked_at_once) {
    hello(0);
    hello(1);
    say(1, rich(50));
    say(0, idle());
    say(1, declined());
    (void)master.take_outgoing();

    say(1, rich(50), 1);

    EXPECT_EQ(said_to<Order>(1).size(), 1u);
}

TEST_F(MasterTest, a_tick_without_news_asks_nobody_while_nobody_waits) {
    hello(0);
    hello(1);
    say(1, declined());
    (void)master.take_outgoing();

    master.tick(10 * ms); // it could be asked again by now
    EXPECT_TRUE(said_to<Order>(1).empty());
    say(0, rich(1), 10 * ms);

    EXPECT_EQ(said_to<Order>(1).size(), 1u);
}

TEST_F(MasterTest, a_hungry_member_is_not_asked_to_feed_itself) {
    hello(0);
    hello(1);
    auto pulse = idle();
    pulse.unfinished = 3;

    say(1, pulse);

    EXPECT_TRUE(said_to<Order>(1).empty());
}

// --- how many are asked

TEST_F(OtherMasterTest, one_hungry_member_costs_one_order_to_the_richest) {
    make({{Rank{0}}, {Rank{1}}, {Rank{2}}, {Rank{3}}});
    for (int r = 0; r < 4; ++r) hello(r);
    hear(0, idle());
    hear(1, rich(20));
    hear(2, rich(90));
    hear(3, rich(30));
    (void)master->take_outgoing();

    master->tick(0);
    hear(1, rich(21));
    master->tick(0);
    auto const orders = said<Order>();

    ASSERT_EQ(orders.size(), 1u);
    EXPECT_EQ(orders[0].first, 2);
    EXPECT_EQ(orders[0].second.amount, 45u);
}

TEST_F(OtherMasterTest, groups_that_got_less_than_a_subtree_a_rank_make_the_master_ask_though_some_are_queued) {
    make({{Rank{0}, 20}, {Rank{20}, 20}});
    hello(0);
    hello(20);
    master->add(nodes(12));
    hear(20, rich(500));
    hear(0, idle());
    (void)master->take_outgoing();

    master->tick(0);

    ASSERT_GE(master->queued(), 2u); // as many as there are members
    ASSERT_EQ(said<Order>().size(), 1u);
}

// --- how much is given

TEST_F(OtherMasterTest, when_one_of_two_will_go_without_the_budget_of_the_other_is_short) {
    make({{Rank{0}}, {Rank{1}}});
    hello(0);
    hello(1);
    master->add(nodes(1));
    hear(0, idle());
    hear(1, idle());
    (void)master->take_outgoing();

    master->tick(0);
    auto const batches = said<Batch>();

    ASSERT_EQ(batches.size(), 1u);
    EXPECT_EQ(batches[0].second.budget_ns, 5 * ms);
}

TEST_F(OtherMasterTest, who_is_soon_back_for_more_gets_more_and_more_but_never_all) {
    make({{Rank{0}}, {Rank{1}}});
    hello(0);
    master->add(nodes(24));
    (void)master->take_outgoing();
    std::vector<std::size_t> sizes;
    for (std::uint64_t i = 0; i < 4; ++i) {
        auto const now = 100 * ms + static_cast<std::int64_t>(i) * ms;
        hear(0, idle(i), now);
        master->tick(now);
        for (auto const& [rank, batch] : said<Batch>()) sizes.push_back(batch.roots.size());
    }

    // 24 / 4; 18 / 4; a portion of 4 though 14 / 4 is less; a portion of 8, but at most half of 10
    EXPECT_EQ(sizes, (std::vector<std::size_t>{6, 4, 4, 5}));
}

TEST_F(OtherMasterTest, a_static_policy_deals_when_everybody_is_there) {
    make({{Rank{0}}, {Rank{1}}}, {.kind = base::Policy::fixed});
    hello(0);
    master->add(nodes(5));
    EXPECT_TRUE(said<Batch>().empty());

    hello(1);
    auto const batches = said<Batch>();

    ASSERT_EQ(batches.size(), 2u);
    EXPECT_EQ(batches[0].second.roots.size(), 3u);
    EXPECT_EQ(batches[1].second.roots.size(), 2u);
    EXPECT_EQ(batches[1].second.roots[1].bytes[0], std::byte{3}); // every second one
}

// --- asked from above

TEST_F(MasterTest, promised_to_others_nothing_goes_to_members_that_still_have_something) {
    hello(0);
    hello(1);
    master.prepare_to_give();
    master.add(nodes(6));
    (void)master.take_outgoing();

    say(1, Pulse{.epoch = 1, .unfinished = 1, .threads = 1, .hunger = Hunger::low});

    EXPECT_TRUE(said_to<Batch>(1).empty());
}

TEST_F(MasterTest, once_it_has_given_it_owes_nothing) {
    hello(0);
    say(0, commit(1, 0, 0, nodes(30), nodes(4)));
    master.prepare_to_give();
    say(0, commit(1, 0, 0, nodes(30), nodes(4)));
    ASSERT_TRUE(master.is_ready_to_give());

    EXPECT_EQ(master.harvest(2).given.size(), 2u);

    EXPECT_FALSE(master.is_ready_to_give());
}

TEST_F(MasterTest, all_members_are_asked_at_once_only_now_and_then) {
    hello(0);
    master.add(nodes(4));
    say(0, rich(30), ms);
    (void)master.take_outgoing();
    master.prepare_to_give();
    EXPECT_EQ(said_to<Order>(0).size(), 1u);
    say(0, commit(1, 0, 0, nodes(30), nodes(1)), 2 * ms);
    say(0, rich(30), 20 * ms);
    (void)master.take_outgoing();
    master.prepare_to_give(); // again, for the same gift
    EXPECT_TRUE(said_to<Order>(0).empty());

    (void)master.harvest(1);
    master.prepare_to_give();
    EXPECT_EQ(said_to<Order>(0).size(), 1u);
    say(0, commit(1, 0, 0, nodes(30), nodes(1)), 21 * ms);
    say(0, rich(30), 22 * ms);
    (void)master.harvest(1);
    (void)master.take_outgoing();
    master.prepare_to_give();

    EXPECT_TRUE(said_to<Order>(0).empty()) << "two milliseconds after the last time";
}
