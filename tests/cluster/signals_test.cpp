#include "espalier/cluster/signals.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <pthread.h>
#include <thread>
#include <unistd.h>

using espalier::cluster::SignalWatch;

namespace {

/// Ends with code 7 if no signal ended it before, with 8 if it was not asked to stop.
[[noreturn]] void live_through(std::initializer_list<std::pair<int, int>> signals) {
    SignalWatch const watch;
    for (auto const& [number, pause_ms] : signals) {
        std::raise(number);
        std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
    }
    std::_Exit(watch.wants_stop() ? 7 : 8);
}

/// One signal, and this long without a watch.
void live_on(int number, int pause_ms) {
    {
        SignalWatch const watch;
        std::raise(number);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
}

} // namespace

TEST(SignalWatch, one_signal_asks_to_stop_and_ends_nothing) {
    EXPECT_EXIT(live_through({{SIGTERM, 0}}), testing::ExitedWithCode(7), "");
    EXPECT_EXIT(live_through({{SIGINT, 0}}), testing::ExitedWithCode(7), "");
}

/// A terminal signals all its processes, and a launcher then passes the same signal on.
TEST(SignalWatch, two_signals_close_together_are_one) {
    EXPECT_EXIT(live_through({{SIGINT, 1}, {SIGINT, 1}, {SIGTERM, 0}}), testing::ExitedWithCode(7), "");
}

TEST(SignalWatch, a_second_signal_two_seconds_later_ends_the_process_at_once) {
    EXPECT_EXIT(live_through({{SIGTERM, 2100}, {SIGTERM, 0}}), testing::ExitedWithCode(128 + SIGTERM), "");
    EXPECT_EXIT(live_through({{SIGTERM, 2100}, {SIGINT, 0}}), testing::ExitedWithCode(128 + SIGINT), "");
}

TEST(SignalWatch, usr1_asks_once_for_a_checkpoint_and_never_ends_anything) {
    SignalWatch watch;
    std::raise(SIGUSR1);

    EXPECT_TRUE(watch.take_checkpoint_request());
    EXPECT_FALSE(watch.take_checkpoint_request());
    EXPECT_FALSE(watch.wants_stop());
}

TEST(SignalWatch, a_new_watch_begins_without_old_requests) {
    {
        SignalWatch const first;
        std::raise(SIGTERM);
        std::raise(SIGUSR1);
        EXPECT_TRUE(first.wants_stop());
    }
    SignalWatch second;

    EXPECT_FALSE(second.wants_stop());
    EXPECT_FALSE(second.take_checkpoint_request());
}

/// What one watch was asked long ago does not make a first signal to the next one a second.
TEST(SignalWatch, a_first_signal_to_a_new_watch_ends_nothing) {
    auto const live = [] {
        live_on(SIGTERM, 2100);
        live_through({{SIGTERM, 0}});
    };
    EXPECT_EXIT(live(), testing::ExitedWithCode(7), "");
}

TEST(SignalWatch, after_it_signals_do_what_they_always_did_but_usr1_ends_nothing) {
    auto const end = [](int number) {
        { SignalWatch const watch; }
        std::raise(number);
        std::_Exit(7);
    };
    EXPECT_EXIT(end(SIGTERM), testing::KilledBySignal(SIGTERM), "");
    EXPECT_EXIT(end(SIGINT), testing::KilledBySignal(SIGINT), "");
    EXPECT_EXIT(end(SIGUSR1), testing::ExitedWithCode(7), "");
}

TEST(SignalWatch, a_read_that_waits_goes_on_after_a_signal) {
    SignalWatch const watch;
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    std::jthread const sender([&, reader = ::pthread_self()] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        ::pthread_kill(reader, SIGUSR1);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        EXPECT_EQ(::write(ends[1], "x", 1), 1);
    });
    char byte = 0;

    EXPECT_EQ(::read(ends[0], &byte, 1), 1);

    ::close(ends[0]);
    ::close(ends[1]);
}
