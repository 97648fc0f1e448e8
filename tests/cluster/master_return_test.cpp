/// A member that was given up as lost and comes back while the run stops.

#include "espalier/base/log.hpp"
#include "master_fixture.hpp"

#include <gtest/gtest.h>

using namespace espalier;
using namespace espalier::cluster;

TEST(MasterReturn, a_member_that_comes_back_while_the_run_stops_is_told_to_stop) {
    base::log::configure({.level = base::log::Level::quiet});
    constexpr std::int64_t lease = 1'000;
    Master master({}, {.members = {{base::Rank{0}, 1}, {base::Rank{1}, 1}}, .lease_ns = lease}, 0);
    for (int rank = 0; rank < 2; ++rank) master.on_message(base::Rank{rank}, {{}, Hello{.threads = 1}}, 0);
    master.on_message(base::Rank{0}, {{}, Pulse{.epoch = 1, .threads = 1}}, 2 * lease);
    master.tick(2 * lease); // rank 1 is lost
    ASSERT_EQ(master.lost(), 1);
    master.order_stop();
    (void)master.take_outgoing();

    master.on_message(base::Rank{1}, {{}, Pulse{.epoch = 2, .threads = 1}}, 2 * lease + 1);

    bool is_told = false;
    for (auto const& said : master.take_outgoing())
        if (auto const* order = std::get_if<Order>(&said.message.body); order != nullptr && said.to == base::Rank{1})
            is_told = is_told || order->kind == OrderKind::stop;
    EXPECT_TRUE(is_told);
    EXPECT_FALSE(master.is_stopped());
}
