#include "espalier/store/run_folder.hpp"

#include "espalier/base/error.hpp"

#include "store/faults.hpp"
#include "store/places.hpp"
#include "store/samples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fcntl.h>
#include <memory>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

/// Locks of readers, what a lock file says, and what happens just before it is locked.
namespace espalier::store {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string refusal(fs::path const& path, bool replace = false) {
    return message_of<base::InputError>([&] { RunFolder({.path = path, .replace = replace}, samples::identity()); });
}

/// The lock of a reader that asks, on a descriptor of its own.
class AskingReader {
public:
    explicit AskingReader(fs::path const& folder) : fd_(::open((folder / "lock").c_str(), O_RDONLY | O_CREAT, 0666)) {
        if (::syscall(SYS_flock, fd_, LOCK_SH) != 0) throw std::runtime_error("no lock");
    }
    ~AskingReader() { ::close(fd_); }
    AskingReader(AskingReader const&) = delete;
    AskingReader& operator=(AskingReader const&) = delete;

private:
    int fd_;
};

TEST(FolderLock, a_reader_that_asks_is_no_writer_to_another_one) {
    TemporaryFolder const temporary;
    AskingReader const reader(temporary.path());

    EXPECT_FALSE(is_being_written(temporary.path()));
}

TEST(FolderLock, a_writer_waits_until_a_reader_has_asked) {
    TemporaryFolder const temporary;
    auto reader = std::make_unique<AskingReader>(temporary.path());
    int tries = 0;
    Faults const faults({.before_every_flock = [&] {
        if (++tries == 3) reader.reset();
    }});

    EXPECT_EQ(refusal(temporary.path()), "");
    EXPECT_GE(tries, 3);
}

TEST(FolderLock, a_lock_names_its_owner_and_nothing_of_the_one_before) {
    TemporaryFolder const temporary;
    write_text(temporary.path() / "lock", "pid 1\nhost elsewhere\nstarted then\n" + std::string(500, 'x'));

    RunFolder const folder({.path = temporary.path(), .replace = true}, samples::identity());

    auto const text = read_text(temporary.path() / "lock");
    EXPECT_THAT(text, HasSubstr("pid " + std::to_string(::getpid()) + "\n"));
    EXPECT_EQ(std::ranges::count(text, '\n'), 3);
    EXPECT_TRUE(text.ends_with("Z\n"));
    EXPECT_TRUE(is_being_written(temporary.path())) << "replacing a run leaves the lock";
}

TEST(FolderLock, what_comes_into_a_folder_before_it_is_locked_is_left_alone) {
    TemporaryFolder const temporary;
    Faults const faults({.before_flock = [&] { write_text(temporary.path() / "thesis.txt", "mine"); }});

    EXPECT_THAT(refusal(temporary.path(), true), HasSubstr("it holds thesis.txt"));
}

TEST(FolderLock, a_lock_file_that_is_replaced_before_it_is_locked_is_none) {
    TemporaryFolder const temporary;
    auto const lock = temporary.path() / "lock";
    Faults const faults({.before_flock = [&] {
        fs::remove(lock); // its owner has ended meanwhile, and another one has begun and ended
        write_text(lock, "pid 1\nhost elsewhere\nstarted then\n");
    }});

    RunFolder const folder({.path = temporary.path()}, samples::identity());

    EXPECT_TRUE(is_being_written(temporary.path())); // by the file that has the name
}

TEST(FolderLock, without_flock_a_lock_of_another_host_stands) {
    Faults const faults({.has_no_flock = true});
    TemporaryFolder const temporary;
    write_text(temporary.path() / "lock", "pid 4000000\nhost elsewhere\nstarted then\n");

    EXPECT_TRUE(is_being_written(temporary.path()));
    EXPECT_THAT(refusal(temporary.path()), HasSubstr("process 4000000 on host elsewhere"));
}

TEST(FolderLock, a_lock_that_is_a_link_is_refused_and_what_it_points_to_left_alone) {
    TemporaryFolder const temporary;
    write_text(temporary.path() / "victim", "precious");
    fs::create_directories(temporary.path() / "run");
    fs::create_symlink(temporary.path() / "victim", temporary.path() / "run/lock");

    EXPECT_THAT(refusal(temporary.path() / "run"), HasSubstr("cannot make the lock file"));

    EXPECT_EQ(read_text(temporary.path() / "victim"), "precious");
}

TEST(FolderLock, a_second_name_of_another_file_is_refused_and_the_file_left_alone) {
    TemporaryFolder const temporary;
    write_text(temporary.path() / "victim", "precious");
    fs::create_directories(temporary.path() / "run");
    fs::create_hard_link(temporary.path() / "victim", temporary.path() / "run/lock");

    EXPECT_THAT(refusal(temporary.path() / "run"), HasSubstr("is not a lock file"));

    EXPECT_EQ(read_text(temporary.path() / "victim"), "precious");
}

TEST(FolderLock, a_pipe_is_refused) {
    TemporaryFolder const folder;
    ASSERT_EQ(::mkfifo((folder.path() / "lock").c_str(), 0600), 0);

    EXPECT_THAT(refusal(folder.path()), HasSubstr("is not a lock file"));
}

} // namespace
} // namespace espalier::store
