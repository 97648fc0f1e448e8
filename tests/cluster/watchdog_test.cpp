#include "espalier/cluster/watchdog.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace espalier::cluster {
namespace {

using namespace std::chrono_literals;

TEST(Watchdog, ends_a_process_that_hangs_and_says_why) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    auto const hang = [] {
        Watchdog const watchdog({.patience = 20ms, .message = "nobody came\n"});
        std::this_thread::sleep_for(1h);
    };

    EXPECT_EXIT(hang(), ::testing::ExitedWithCode(1), "nobody came");
}

TEST(Watchdog, ends_with_the_code_that_was_decided) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    auto const hang = [] {
        Watchdog const watchdog({.patience = 20ms, .message = "", .exit_code = 85});
        std::this_thread::sleep_for(1h);
    };

    EXPECT_EXIT(hang(), ::testing::ExitedWithCode(85), "");
}

TEST(Watchdog, one_that_is_gone_in_time_does_nothing) {
    std::optional<Watchdog> watchdog(std::in_place, Watchdog::Options{.patience = 2s, .message = "late\n"});
    watchdog.reset();

    std::this_thread::sleep_for(2100ms);
}

} // namespace
} // namespace espalier::cluster
