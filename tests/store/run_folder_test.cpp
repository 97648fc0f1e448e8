#include "espalier/store/run_folder.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/system.hpp"

#include "store/faults.hpp"
#include "store/places.hpp"
#include "store/samples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <optional>
#include <sys/wait.h>
#include <unistd.h>

namespace espalier::store {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

RunFolder open_folder(fs::path const& path, bool replace = false) {
    return RunFolder({.path = path, .replace = replace}, samples::identity());
}

std::string refusal(fs::path const& path, bool replace = false) {
    return message_of<base::InputError>([&] { open_folder(path, replace); });
}

void write_run_that_ended(fs::path const& folder, std::string const& stop_reason) {
    auto run = samples::run();
    run.stop_reason = stop_reason;
    fs::create_directories(folder);
    write_run(folder / "run.h5", run);
}

/// Another process that has the folder, until it is killed.
class OtherProcess {
public:
    explicit OtherProcess(fs::path const& folder) {
        int ready[2];
        if (::pipe(ready) != 0) throw std::runtime_error("no pipe");
        pid_ = ::fork();
        if (pid_ == 0) hold(folder, ready[1]);
        char byte = 0;
        if (::read(ready[0], &byte, 1) != 1) throw std::runtime_error("no child");
        ::close(ready[0]);
        ::close(ready[1]);
    }
    ~OtherProcess() { kill(); }
    OtherProcess(OtherProcess const&) = delete;
    OtherProcess& operator=(OtherProcess const&) = delete;

    [[nodiscard]] pid_t pid() const { return pid_; }
    void kill() {
        if (pid_ <= 0) return;
        ::kill(pid_, SIGKILL);
        ::waitpid(std::exchange(pid_, 0), nullptr, 0);
    }

private:
    [[noreturn]] static void hold(fs::path const& folder, int ready) {
        auto const held = open_folder(folder);
        if (::write(ready, "x", 1) != 1) ::_exit(1);
        while (true) ::pause();
    }
    pid_t pid_ = 0;
};

TEST(RunFolder, a_new_folder_is_made_with_its_parents) {
    TemporaryFolder const temporary;
    auto const path = temporary.path() / "a/b/run";

    auto const folder = open_folder(path);

    EXPECT_EQ(folder.state(), FolderState::empty);
    EXPECT_EQ(folder.segment(), 1);
    EXPECT_EQ(folder.path(), path);
    EXPECT_FALSE(folder.previous());
    EXPECT_TRUE(is_being_written(path));
}

TEST(RunFolder, nothing_is_left_of_the_lock) {
    TemporaryFolder const temporary;

    { auto const folder = open_folder(temporary.path()); }

    EXPECT_FALSE(is_being_written(temporary.path()));
    EXPECT_TRUE(fs::is_empty(temporary.path()));
}

TEST(RunFolder, moving_moves_the_lock) {
    TemporaryFolder const temporary;
    std::optional<RunFolder> first(open_folder(temporary.path()));

    RunFolder const second(std::move(*first));
    first.reset();

    EXPECT_TRUE(is_being_written(temporary.path()));
}

TEST(RunFolder, an_interrupted_run_is_resumable) {
    TemporaryFolder const temporary;
    write_run_that_ended(temporary.path(), "time_limit");

    auto const folder = open_folder(temporary.path());

    EXPECT_EQ(folder.state(), FolderState::resumable);
    EXPECT_EQ(folder.previous()->counts, samples::run().counts);
    EXPECT_EQ(folder.segment(), 3);
}

TEST(RunFolder, a_complete_run_is_finished) {
    TemporaryFolder const temporary;
    write_run_that_ended(temporary.path(), "complete");

    EXPECT_EQ(open_folder(temporary.path()).state(), FolderState::finished);
}

TEST(RunFolder, a_run_killed_before_its_first_write_counts_as_empty) {
    TemporaryFolder const temporary;
    write_text(temporary.path() / "lock", "pid 1\nhost elsewhere\nstarted then\n");
    write_text(temporary.path() / "run.h5.tmp", "half");
    write_text(temporary.path() / "trace/segment-004/rank-000000.h5", "");

    auto const folder = open_folder(temporary.path());

    EXPECT_EQ(folder.state(), FolderState::empty);
    EXPECT_EQ(folder.segment(), 5);
}

TEST(RunFolder, a_folder_that_another_process_writes_is_refused) {
    TemporaryFolder const temporary;
    OtherProcess other(temporary.path());

    EXPECT_TRUE(is_being_written(temporary.path()));
    auto const message = refusal(temporary.path());
    EXPECT_THAT(message, HasSubstr("process " + std::to_string(other.pid()) + " on host " + base::host_name()));
    EXPECT_THAT(message, HasSubstr("mpiexec"));
    EXPECT_THAT(refusal(temporary.path(), true), HasSubstr("process "));

    other.kill();
    EXPECT_FALSE(is_being_written(temporary.path()));
    EXPECT_EQ(refusal(temporary.path()), "");
}

TEST(RunFolder, asking_readers_never_keep_a_writer_out) {
    TemporaryFolder const temporary;
    auto const child = ::fork();
    if (child == 0)
        while (true) (void)is_being_written(temporary.path());

    for (int i = 0; i < 50; ++i) EXPECT_EQ(refusal(temporary.path()), "");

    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
}

TEST(RunFolder, a_file_system_without_flock_has_locks_too) {
    Faults const faults({.has_no_flock = true});
    TemporaryFolder const temporary;
    OtherProcess other(temporary.path());

    EXPECT_TRUE(is_being_written(temporary.path()));
    EXPECT_THAT(refusal(temporary.path()), HasSubstr("process " + std::to_string(other.pid())));

    other.kill();
    EXPECT_FALSE(is_being_written(temporary.path()));
    EXPECT_EQ(refusal(temporary.path()), "");
    EXPECT_FALSE(fs::exists(temporary.path() / "lock"));
}

TEST(RunFolder, without_flock_a_lock_of_another_host_stands) {
    Faults const faults({.has_no_flock = true});
    TemporaryFolder const temporary;
    write_text(temporary.path() / "lock", "pid 4000000\nhost elsewhere\nstarted then\n");

    EXPECT_TRUE(is_being_written(temporary.path()));
    EXPECT_THAT(refusal(temporary.path()), HasSubstr("process 4000000 on host elsewhere"));
}

TEST(RunFolder, a_path_that_is_no_folder_is_refused) {
    TemporaryFolder const temporary;
    write_text(temporary.path() / "file", "text");

    EXPECT_THAT(refusal(temporary.path() / "file"), HasSubstr("is not a folder"));
    EXPECT_THAT(refusal(temporary.path() / "file/run"), HasSubstr("cannot make the run folder"));
}

TEST(RunFolder, a_folder_of_something_else_is_refused_and_left_alone) {
    TemporaryFolder const temporary;
    for (auto const* name : {"a", "b", "c", "d", "e", "f"}) write_text(temporary.path() / name, "mine");

    EXPECT_THAT(refusal(temporary.path()), HasSubstr("and 1 more"));
    EXPECT_THAT(refusal(temporary.path(), true), HasSubstr("--force does not remove them"));

    EXPECT_EQ(std::distance(fs::directory_iterator(temporary.path()), {}), 6);
}

TEST(RunFolder, a_run_file_of_another_program_is_refused_and_left_alone) {
    TemporaryFolder const temporary;
    write_text(temporary.path() / "run.h5", "mine");

    EXPECT_THAT(refusal(temporary.path(), true), HasSubstr("run.h5 of another program"));

    EXPECT_EQ(read_text(temporary.path() / "run.h5"), "mine");
}

TEST(RunFolder, a_run_of_another_identity_is_refused_with_what_differs) {
    TemporaryFolder const temporary;
    write_run_that_ended(temporary.path(), "time_limit");
    auto other = samples::identity();
    other.seed = 43;
    other.verify = "tests: 5\n";

    auto const message = message_of<base::InputError>([&] { RunFolder({.path = temporary.path()}, other); });

    EXPECT_THAT(message, HasSubstr("seed there: 42"));
    EXPECT_THAT(message, HasSubstr("seed now:   43"));
    EXPECT_THAT(message, HasSubstr("tests: 5"));
    EXPECT_THAT(message, testing::Not(HasSubstr("problem there")));
    EXPECT_THAT(message, HasSubstr("--force"));
    EXPECT_FALSE(fs::exists(temporary.path() / "lock"));
}

TEST(RunFolder, a_checkpoint_without_results_is_refused) {
    TemporaryFolder const temporary;
    write_checkpoint(temporary.path(), samples::checkpoint());

    EXPECT_THAT(refusal(temporary.path()), HasSubstr("no run.h5"));
    EXPECT_EQ(refusal(temporary.path(), true), "");
}

TEST(RunFolder, a_damaged_run_is_refused_and_can_be_replaced) {
    TemporaryFolder const temporary;
    write_run_that_ended(temporary.path(), "time_limit");
    fs::resize_file(temporary.path() / "run.h5", 3000);

    EXPECT_THAT(refusal(temporary.path()), HasSubstr("--force"));
    EXPECT_EQ(open_folder(temporary.path(), true).state(), FolderState::empty);
}

TEST(RunFolder, replacing_removes_only_what_is_ours) {
    TemporaryFolder const temporary;
    auto const& path = temporary.path();
    write_run_that_ended(path, "complete");
    write_checkpoint(path, samples::checkpoint());
    write_text(path / trace_shard_name(1, 0), "shard");
    write_text(path / emit_shard_name(2, 7), "shard");
    write_text(path / "thoughts.html", "mine");
    write_text(path / "trace/notes.txt", "mine");

    auto const folder = open_folder(path, true);

    EXPECT_EQ(folder.state(), FolderState::empty);
    EXPECT_EQ(folder.segment(), 1);
    EXPECT_FALSE(folder.previous());
    EXPECT_FALSE(fs::exists(path / "run.h5") || fs::exists(path / "checkpoint.h5") || fs::exists(path / "emit"));
    EXPECT_FALSE(fs::exists(path / "trace/segment-001"));
    EXPECT_EQ(read_text(path / "thoughts.html") + read_text(path / "trace/notes.txt"), "minemine");
}

TEST(RunFolder, shards_have_names_that_sort) {
    EXPECT_EQ(trace_shard_name(1, 123), "trace/segment-001/rank-000123.h5");
    EXPECT_EQ(emit_shard_name(12, 0), "emit/segment-012/rank-000000.h5");
}

} // namespace
} // namespace espalier::store
