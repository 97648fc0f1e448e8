#include "espalier/cluster/leases.hpp"

#include "support/fake_pool.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

using namespace espalier;
using namespace espalier::cluster;
using base::Rank;
using toys::nodes;
using Standing = Leases::Standing;

namespace {

constexpr std::int64_t second = 1'000'000'000;

/// A worker and a group of three, both there; a lease lasts a second.
struct LeasesTest : testing::Test {
    LeasesTest() {
        for (std::size_t member : {0u, 1u}) leases.greet(member, {.threads = 2, .host = "here"}, 0);
    }
    void commit(std::size_t member, std::size_t kept, std::uint64_t received = 0) {
        Commit commit{.pulse = {.epoch = leases[member].epoch, .received = received}, .harvest = {.kept = nodes(kept)}};
        leases.renew(member, commit);
    }
    std::size_t open() const {
        search::PackedNodes open;
        leases.copy_to(open);
        return open.size();
    }
    Leases leases{{{Rank{4}}, {Rank{7}, 3}}, second, 0};
};

} // namespace

// --- who is there

TEST_F(LeasesTest, members_are_found_by_their_rank) {
    EXPECT_EQ(leases.find(Rank{4}), 0u);
    EXPECT_EQ(leases.find(Rank{7}), 1u);
    EXPECT_EQ(leases.find(Rank{5}), std::nullopt);
    EXPECT_EQ(leases.size(), 2u);
    EXPECT_EQ(leases[1].ranks, 3);
}

TEST(Leases, the_roll_is_complete_when_everybody_has_said_hello_or_is_lost) {
    Leases leases({{Rank{0}}, {Rank{1}}}, second, 0);
    EXPECT_FALSE(leases.is_complete_roll());
    leases.greet(0, {.threads = 1}, 0);
    EXPECT_FALSE(leases.is_complete_roll());

    (void)leases.take_back(1);

    EXPECT_TRUE(leases.is_complete_roll());
}

TEST_F(LeasesTest, a_second_hello_does_not_bring_back_who_is_lost) {
    (void)leases.take_back(0);

    leases.greet(0, {.threads = 2}, second);

    EXPECT_TRUE(leases[0].is_lost()) << "it may still hold work of the old epoch";
}

// --- how long a lease lasts

TEST_F(LeasesTest, a_lease_ends_after_more_than_its_time_of_silence) {
    (void)leases.hear(1, 1, second / 2);

    EXPECT_TRUE(leases.expired(second).empty());
    EXPECT_EQ(leases.expired(second + 1), std::vector<std::size_t>{0});
    EXPECT_EQ(leases.expired(2 * second), (std::vector<std::size_t>{0, 1})) << "nothing was taken back yet";
}

TEST(Leases, one_that_never_said_hello_has_three_times_as_long) {
    Leases leases({{Rank{0}}}, second, 5 * second);

    EXPECT_TRUE(leases.expired(8 * second).empty());
    EXPECT_EQ(leases.expired(8 * second + 1).size(), 1u);
}

TEST_F(LeasesTest, who_is_lost_or_gone_does_not_expire) {
    (void)leases.take_back(0);
    leases.dismiss(1);

    EXPECT_TRUE(leases.expired(100 * second).empty());
}

TEST_F(LeasesTest, leases_are_checked_four_times_while_one_lasts) {
    EXPECT_EQ(leases.next_check_ns(), second / 4);

    (void)leases.expired(10 * second);

    EXPECT_EQ(leases.next_check_ns(), 10 * second + second / 4);
}

TEST_F(LeasesTest, words_of_an_old_epoch_are_a_sign_of_life_and_no_more) {
    leases.drop(0);
    leases.drop(1);

    EXPECT_EQ(leases.hear(0, 1, 2 * second), Standing::outdated);
    EXPECT_EQ(leases.hear(1, 3, 2 * second), Standing::outdated) << "nor is a later one ours";

    EXPECT_TRUE(leases.expired(3 * second).empty());
}

// --- what a member holds

TEST_F(LeasesTest, what_was_lent_is_on_lease_until_a_commit_speaks_of_it) {
    EXPECT_EQ(leases.lend(0, nodes(2)), 1u);
    EXPECT_EQ(leases.lend(0, nodes(3)), 2u);
    EXPECT_EQ(leases.lend(1, nodes(1)), 1u) << "each member counts its own";
    EXPECT_EQ(open(), 6u);

    commit(0, 4, /*received=*/1);

    EXPECT_EQ(leases[0].kept.size(), 4u);
    ASSERT_EQ(leases[0].unreceived.size(), 1u);
    EXPECT_EQ(leases[0].unreceived.front().number, 2u);
    EXPECT_EQ(open(), 4u + 3u + 1u);
    EXPECT_FALSE(leases[0].is_empty());
}

TEST_F(LeasesTest, a_lease_is_empty_when_neither_kept_nor_sent_subtrees_are_left) {
    EXPECT_TRUE(leases[0].is_empty());
    (void)leases.lend(0, nodes(1));
    EXPECT_FALSE(leases[0].is_empty());
    commit(0, 1, 1);
    EXPECT_FALSE(leases[0].is_empty());

    commit(0, 0, 1);

    EXPECT_TRUE(leases[0].is_empty());
}

TEST_F(LeasesTest, a_lost_member_gives_back_all_it_held_and_begins_a_new_epoch) {
    (void)leases.lend(0, nodes(2));
    commit(0, 4, 1);
    (void)leases.lend(0, nodes(3));
    (void)leases.lend(0, nodes(1));

    auto const held = leases.take_back(0);

    EXPECT_EQ(held.size(), 8u);
    EXPECT_TRUE(leases[0].is_empty());
    EXPECT_TRUE(leases[0].is_lost());
    EXPECT_EQ(leases[0].epoch, 2u);
    EXPECT_EQ(leases.lend(0, nodes(1)), 1u) << "batches are counted anew";
}

TEST_F(LeasesTest, who_is_lost_is_back_when_it_speaks_of_the_new_epoch_and_only_once) {
    (void)leases.take_back(0);

    EXPECT_EQ(leases.hear(0, 1, second), Standing::outdated);
    EXPECT_TRUE(leases[0].is_lost());
    EXPECT_EQ(leases.hear(0, 2, second), Standing::returned);
    EXPECT_EQ(leases.hear(0, 2, second), Standing::current);

    EXPECT_TRUE(leases[0].is_active());
    EXPECT_EQ(leases.lost_ranks(), 0);
}

TEST_F(LeasesTest, what_was_dropped_is_in_no_lease_but_the_member_is_still_there) {
    (void)leases.lend(0, nodes(2));
    commit(1, 4);

    leases.drop(0);
    leases.drop(1);

    EXPECT_EQ(open(), 0u);
    EXPECT_EQ(leases[1].epoch, 2u);
    EXPECT_TRUE(leases[1].is_active());
    EXPECT_EQ(leases.lend(0, nodes(1)), 1u);
}

// --- what is known of members

TEST_F(LeasesTest, a_lost_group_counts_with_all_its_ranks_and_a_living_one_with_those_it_has_lost) {
    leases.note(1, {.epoch = 1, .lost_ranks = 2});
    EXPECT_EQ(leases.lost_ranks(), 2);

    (void)leases.take_back(1);

    EXPECT_EQ(leases.lost_ranks(), 3);
}

TEST_F(LeasesTest, of_what_a_lost_member_said_only_its_cpu_time_stays) {
    leases.note(0, {.epoch = 1, .unfinished = 9, .nodes = 500, .results = 6, .threads = 4, .cpu_seconds = 12});
    leases.note(1, {.epoch = 1, .cpu_seconds = 5});

    (void)leases.take_back(0);

    EXPECT_EQ(leases[0].pulse, Pulse{.cpu_seconds = 12});
    EXPECT_EQ(leases.cpu_seconds_of_lost(), 12);
}

TEST_F(LeasesTest, all_is_fresh_when_every_active_member_has_committed_since_it_was_told) {
    leases.expect_commit(0);
    leases.expect_commit(1);
    EXPECT_FALSE(leases.is_fresh());
    commit(0, 1);
    EXPECT_FALSE(leases.is_fresh());

    (void)leases.take_back(1);

    EXPECT_TRUE(leases.is_fresh()) << "nobody waits for who is lost";
}

TEST_F(LeasesTest, all_have_stopped_when_each_has_sent_its_last_commit_or_is_not_there_any_more) {
    Commit last{.pulse = {.epoch = 1}, .is_final = true};
    leases.renew(0, last);
    EXPECT_TRUE(leases[0].is_stopped);
    EXPECT_FALSE(leases.is_stopped());

    leases.dismiss(1);

    EXPECT_TRUE(leases.is_stopped());
    EXPECT_FALSE(leases.is_deserted()) << "the first one has not said farewell";
    leases.dismiss(0);
    EXPECT_TRUE(leases.is_deserted());
}

TEST(Leases, who_is_awaited_has_neither_stopped_nor_left) {
    Leases leases({{Rank{0}}}, second, 0);

    EXPECT_FALSE(leases.is_stopped());
    EXPECT_FALSE(leases.is_deserted());
    (void)leases.take_back(0);
    EXPECT_TRUE(leases.is_stopped());
    EXPECT_TRUE(leases.is_deserted());
}

/// Whatever is lent, committed and taken back: a subtree is in one lease or was taken back, never both and never
/// neither.
RC_GTEST_PROP(LeasesLaws, a_subtree_that_was_lent_is_held_once_until_it_is_taken_back, ()) {
    Leases leases({{Rank{0}}, {Rank{1}}, {Rank{2}}}, second, 0);
    std::size_t lent = 0, back = 0;
    for (std::size_t member = 0; member < 3; ++member) leases.greet(member, {.threads = 1}, 0);
    auto const steps = *rc::gen::inRange(0, 40);
    for (int i = 0; i < steps; ++i) {
        auto const member = *rc::gen::inRange<std::size_t>(0, 3);
        auto const& lease = leases[member];
        switch (*rc::gen::inRange(0, 3)) {
        case 0: {
            auto const size = *rc::gen::inRange<std::size_t>(1, 4);
            lent += size;
            (void)leases.lend(member, nodes(size));
            break;
        }
        case 1: { // a member that works on nothing keeps all it has received
            auto const received = *rc::gen::inRange<std::uint64_t>(0, lease.batches + 1);
            auto kept = lease.kept;
            for (auto const& batch : lease.unreceived)
                if (batch.number <= received) kept.insert(kept.end(), batch.roots.begin(), batch.roots.end());
            Commit commit{.pulse = {.epoch = lease.epoch, .received = received}, .harvest = {.kept = std::move(kept)}};
            leases.renew(member, commit);
            break;
        }
        default:
            back += leases.take_back(member).size();
        }
    }

    search::PackedNodes open;
    leases.copy_to(open);
    RC_ASSERT(open.size() + back == lent);
}
