#include "espalier/store/run_folder.hpp"
#include "espalier/store/shards.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/system.hpp"

#include "files.hpp"
#include "store/faults.hpp"
#include "store/places.hpp"
#include "store/samples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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

TEST(RunFolder, moving_takes_all_that_is_known_along) {
    TemporaryFolder const temporary;
    write_run_that_ended(temporary.path(), "time_limit");
    auto first = open_folder(temporary.path());

    RunFolder const second(std::move(first));

    EXPECT_EQ(second.segment(), 3);
    EXPECT_EQ(second.state(), FolderState::resumable);
    EXPECT_EQ(second.previous()->counts, samples::run().counts);
    EXPECT_EQ(second.path(), temporary.path());
}

TEST(RunFolder, no_segment_of_traces_or_emitted_records_is_used_twice) {
    TemporaryFolder const temporary;
    write_run_that_ended(temporary.path(), "time_limit"); // after two executions
    EXPECT_EQ(open_folder(temporary.path()).segment(), 3);

    write_text(temporary.path() / "emit/segment-007/rank-000000.h5", "");
    write_text(temporary.path() / "trace/segment-009x/rank-000000.h5", ""); // not ours

    EXPECT_EQ(open_folder(temporary.path()).segment(), 8);
}

TEST(RunFolder, that_is_replaced_is_empty_to_who_only_looks) {
    TemporaryFolder const temporary;
    write_run_that_ended(temporary.path(), "time_limit");
    Identity const other{.problem = "something else"};

    EXPECT_EQ(inspect_folder({.path = temporary.path(), .replace = true}, other), FolderState::empty);
    EXPECT_THROW((void)inspect_folder({.path = temporary.path()}, other), base::InputError);
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

TEST(RunFolder, a_path_that_is_no_folder_is_refused) {
    TemporaryFolder const temporary;
    write_text(temporary.path() / "file", "text");

    EXPECT_THAT(refusal(temporary.path() / "file"), HasSubstr("is not a folder"));
    EXPECT_THAT(refusal(temporary.path() / "file/run"), HasSubstr("cannot make the run folder"));
}

TEST(RunFolder, a_folder_of_something_else_is_refused_and_left_alone) {
    TemporaryFolder const temporary;
    for (auto const* name : {"a", "b", "c", "d", "e", "f"}) write_text(temporary.path() / name, "mine");

    auto const message = refusal(temporary.path());
    EXPECT_THAT(message, HasSubstr("and 1 more"));
    EXPECT_EQ(std::ranges::count(message.substr(message.find("it holds"), 30), ','), 4) << "five names";
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

    EXPECT_THAT(refusal(temporary.path()), HasSubstr("no run.h5 (its results are lost): its checkpoint is intact"));
    EXPECT_EQ(refusal(temporary.path(), true), "");
}

TEST(RunFolder, repairing_goes_on_from_the_checkpoint) {
    for (bool const is_gone : {false, true}) {
        TemporaryFolder const temporary;
        auto const file = temporary.path() / "run.h5";
        write_run_that_ended(temporary.path(), "time_limit");
        write_checkpoint(temporary.path(), samples::checkpoint(), samples::run());
        is_gone ? (void)fs::remove(file) : fs::resize_file(file, 3000);
        EXPECT_THAT(refusal(temporary.path()), HasSubstr("--repair"));

        RunFolder const folder({.path = temporary.path(), .repair = true}, samples::identity());

        EXPECT_EQ(folder.previous()->results, samples::run().results);
        EXPECT_THAT(folder.repaired(), HasSubstr("repaired from the checkpoint"));
    }
}

TEST(RunFolder, repairing_a_whole_run_does_nothing) {
    TemporaryFolder const temporary;
    write_run_that_ended(temporary.path(), "time_limit");

    RunFolder const folder({.path = temporary.path(), .repair = true}, samples::identity());

    EXPECT_EQ(folder.repaired(), "");
    EXPECT_EQ(folder.state(), FolderState::resumable);
}

TEST(RunFolder, what_cannot_be_repaired_is_refused) {
    TemporaryFolder const temporary;
    write_run_that_ended(temporary.path(), "time_limit");
    fs::resize_file(temporary.path() / "run.h5", 3000);

    EXPECT_THAT(message_of<base::InputError>(
                    [&] { RunFolder({.path = temporary.path(), .repair = true}, samples::identity()); }),
                HasSubstr("nothing can be saved"));
}

TEST(RunFolder, replacing_removes_links_and_never_what_they_point_to) {
    TemporaryFolder const temporary;
    auto const run = temporary.path() / "run";
    auto const other = temporary.path() / "other";
    write_run_that_ended(run, "complete");
    write_text(other / "segment-001/rank-000000.h5", "precious");
    write_text(other / "rank-000001.h5", "precious");
    fs::create_directory_symlink(other, run / "trace");
    fs::create_directories(run / "emit");
    fs::create_directory_symlink(other, run / "emit/segment-001");
    fs::create_symlink(other / "rank-000001.h5", run / "checkpoint.h5");

    (void)open_folder(run, true);

    EXPECT_EQ(read_text(other / "segment-001/rank-000000.h5") + read_text(other / "rank-000001.h5"),
              "preciousprecious");
    EXPECT_TRUE(fs::is_empty(run));
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
    write_text(path / "trace/segment-002/notes.txt", "mine");
    write_text(path / "trace/segment-003x/rank-000000.h5", "mine");

    auto const folder = open_folder(path, true);

    EXPECT_EQ(folder.state(), FolderState::empty);
    EXPECT_EQ(folder.segment(), 3); // one that has something in it stays
    EXPECT_EQ(read_text(path / "trace/segment-002/notes.txt"), "mine");
    EXPECT_EQ(read_text(path / "trace/segment-003x/rank-000000.h5"), "mine");
    EXPECT_FALSE(folder.previous());
    EXPECT_FALSE(fs::exists(path / "run.h5") || fs::exists(path / "checkpoint.h5") || fs::exists(path / "emit"));
    EXPECT_FALSE(fs::exists(path / "trace/segment-001"));
    EXPECT_EQ(read_text(path / "thoughts.html") + read_text(path / "trace/notes.txt"), "minemine");
}

TEST(RunFolder, shards_have_names_that_sort) {
    EXPECT_EQ(trace_shard_name(1, 123), "trace/segment-001/rank-000123.h5");
    EXPECT_EQ(emit_shard_name(12, 0), "emit/segment-012/rank-000000.h5");
}

/// Looking first and making the file afterwards would miss a link that appears in between.
TEST(Files, no_file_is_made_behind_a_link_that_took_the_place_of_a_part_of_a_run) {
    TemporaryFolder const folder;
    auto const elsewhere = folder.path() / "elsewhere", run = folder.path() / "run";
    fs::create_directories(elsewhere / "segment-001");
    fs::create_directories(run / "emit");
    fs::create_directory_symlink(elsewhere, run / "trace");
    fs::create_directory_symlink(elsewhere, run / "emit/segment-001");

    for (auto const* name : {"trace/segment-001/rank-000000.h5", "emit/segment-001/rank-000000.h5"})
        EXPECT_LT(make_new(run / name).get(), 0) << name;

    fs::create_directory_symlink(run, folder.path() / "named"); // the path that a user names may have links
    fs::create_directories(run / "emit/segment-002");
    EXPECT_GE(make_new(folder.path() / "named/emit/segment-002/rank-000000.h5").get(), 0);
    EXPECT_TRUE(fs::is_empty(elsewhere / "segment-001"));
}

TEST(TraceShard, a_link_in_the_place_of_a_folder_is_not_followed) {
    TemporaryFolder const folder;
    auto const elsewhere = folder.path() / "elsewhere";
    fs::create_directories(elsewhere);
    fs::create_directories(folder.path() / "run");
    fs::create_directory_symlink(elsewhere, folder.path() / "run/trace");

    EXPECT_THAT(message_of<base::SystemError>(
                    [&] { TraceShard(folder.path() / "run/trace/segment-001/rank-000000.h5", samples::shard_info()); }),
                HasSubstr("run/trace: is a link"));

    EXPECT_TRUE(fs::is_empty(elsewhere));
}

} // namespace
} // namespace espalier::store
