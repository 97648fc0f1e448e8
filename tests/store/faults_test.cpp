#include "store/faults.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace espalier::store {
namespace {

Faults::Options faults;
std::filesystem::path logged_folder;
std::vector<std::string> logged;

/// Relative to the folder that is logged; empty for what is elsewhere.
std::string logged_name(std::filesystem::path const& path) {
    if (logged_folder.empty()) return {};
    auto const name = path.lexically_relative(logged_folder).string();
    return name.starts_with("..") ? std::string() : name;
}

std::string logged_name(int fd) {
    if (logged_folder.empty()) return {};
    std::error_code ignored;
    return logged_name(std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), ignored));
}

void log_call(std::string const& what, std::string const& name) {
    if (name.empty()) return;
    if (logged.empty() || logged.back() != what + " " + name) logged.push_back(what + " " + name);
}

/// True, with errno set, if a signal comes now.
bool is_interrupted() {
    if (faults.interruptions <= 0) return false;
    --faults.interruptions;
    errno = EINTR;
    return true;
}

} // namespace

Faults::Faults(Options options) { faults = std::move(options); }
Faults::~Faults() { faults = {}; }

CallLog::CallLog(std::filesystem::path const& folder) {
    logged.clear();
    logged_folder = folder;
}
CallLog::~CallLog() { logged_folder.clear(); }
std::vector<std::string> const& CallLog::calls() const { return logged; }

} // namespace espalier::store

// The linker prefers these to the C library's.
using espalier::store::faults;
using espalier::store::is_interrupted;
using espalier::store::log_call;
using espalier::store::logged_name;

extern "C" int flock(int fd, int operation) noexcept {
    if (auto const hook = std::exchange(faults.before_flock, nullptr)) hook();
    if (faults.before_every_flock) faults.before_every_flock();
    if (!faults.has_no_flock) return static_cast<int>(syscall(SYS_flock, fd, operation));
    errno = ENOLCK;
    return -1;
}

extern "C" int fallocate(int fd, int mode, off_t offset, off_t length) {
    if (!faults.has_no_fallocate) return static_cast<int>(syscall(SYS_fallocate, fd, mode, offset, length));
    errno = EOPNOTSUPP;
    return -1;
}

extern "C" ssize_t pread(int fd, void* data, size_t size, off_t offset) {
    if (is_interrupted()) return -1;
    return syscall(SYS_pread64, fd, data, std::min(size, faults.most_bytes), offset);
}

extern "C" ssize_t pwrite(int fd, void const* data, size_t size, off_t offset) {
    if (is_interrupted()) return -1;
    size = std::min(size, faults.most_bytes);
    if (faults.good_writes > 0) {
        --faults.good_writes;
        log_call("write", logged_name(fd));
        return syscall(SYS_pwrite64, fd, data, size, offset);
    }
    if (std::exchange(faults.is_last_torn, false)) syscall(SYS_pwrite64, fd, data, size / 2, offset);
    errno = EIO;
    return -1;
}

extern "C" ssize_t write(int fd, void const* data, size_t size) {
    if (is_interrupted()) return -1;
    log_call("write", logged_name(fd));
    return syscall(SYS_write, fd, data, std::min(size, faults.most_bytes));
}

extern "C" int fsync(int fd) {
    log_call("fsync", logged_name(fd));
    return static_cast<int>(syscall(SYS_fsync, fd));
}

extern "C" int rename(char const* from, char const* to) noexcept {
    log_call("rename", logged_name(from) + " " + logged_name(to));
    return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

namespace espalier::store {
namespace {

TEST(Faults, stand_in_for_system_calls_and_end) {
    {
        Faults const none({.has_no_flock = true});
        EXPECT_EQ(::flock(-1, LOCK_EX), -1);
        EXPECT_EQ(errno, ENOLCK);
    }
    EXPECT_EQ(::flock(-1, LOCK_EX), -1);
    EXPECT_EQ(errno, EBADF);
}

} // namespace
} // namespace espalier::store
