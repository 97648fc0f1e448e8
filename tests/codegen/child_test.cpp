#include "espalier/codegen/child.hpp"

#include "espalier/base/system.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace espalier::codegen {
namespace {

using How = ChildEnd::How;

TEST(Child, returns_its_output_and_its_exit_code) {
    auto const end = run_child({"sh", "-c", "echo out; echo error >&2; exit 3"}, {});

    EXPECT_EQ(end.how, How::exited);
    EXPECT_EQ(end.code, 3);
    EXPECT_EQ(end.out, "out\n");
    EXPECT_EQ(end.errors, "error\n");
}

TEST(Child, that_crashes_is_known_by_its_signal) {
    auto const end = run_child({"sh", "-c", "kill -SEGV $$"}, {});

    EXPECT_EQ(end.how, How::killed);
    EXPECT_EQ(end.code, SIGSEGV);
}

TEST(Child, that_hangs_is_killed_with_what_it_started) {
    auto const start = base::steady_ns();

    auto const end = run_child({"sh", "-c", "sleep 60 & sleep 60"}, {.seconds = 0.2});

    EXPECT_EQ(end.how, How::timed_out);
    EXPECT_LT(base::steady_ns() - start, 20'000'000'000);
}

TEST(Child, is_killed_when_the_run_stops) {
    std::atomic<bool> stops = false;
    auto const start = base::steady_ns();
    std::thread other([&] { stops = true; });

    EXPECT_THROW((void)run_child({"sh", "-c", "sleep 60 & sleep 60"}, {.stop = base::StopToken(stops)}), base::Stopped);

    other.join();
    EXPECT_LT(base::steady_ns() - start, 20'000'000'000);
}

TEST(Child, ends_when_the_process_that_started_it_is_killed) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0); // at its end when nobody holds the other end any more
    auto const starter = fork();
    if (starter == 0) {
        fcntl(pipe_ends[1], F_SETFD, 0);
        static_cast<void>(run_child({"sleep", "60"}, {}));
        _exit(0);
    }
    close(pipe_ends[1]);
    usleep(300'000);

    kill(starter, SIGKILL);

    auto const start = base::steady_ns();
    char byte = 0;
    EXPECT_EQ(read(pipe_ends[0], &byte, 1), 0);
    EXPECT_LT(base::steady_ns() - start, 20'000'000'000);
    waitpid(starter, nullptr, 0);
    close(pipe_ends[0]);
}

TEST(Child, that_hangs_with_closed_output_is_killed_too) {
    auto const end = run_child({"sh", "-c", "exec >&- 2>&-; sleep 60"}, {.seconds = 0.2});

    EXPECT_EQ(end.how, How::timed_out);
}

TEST(Child, cannot_have_more_memory_than_its_limit) {
    auto const end = run_child({"sh", "-c", "head -c 400000000 /dev/zero | tail"}, {.memory_bytes = 100 << 20});

    EXPECT_FALSE(end.is_good() && end.out.size() > 100);
    EXPECT_NE(end.errors, "");
}

TEST(Child, that_does_not_exist_exits_with_127) { EXPECT_EQ(run_child({"/no/such/program"}, {}).code, 127); }

} // namespace
} // namespace espalier::codegen
