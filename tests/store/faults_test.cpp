#include "store/faults.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace espalier::store {
namespace {

Faults::Options faults;

} // namespace

Faults::Faults(Options options) { faults = options; }
Faults::~Faults() { faults = {}; }

} // namespace espalier::store

// The linker prefers these to the C library's.
using espalier::store::faults;

extern "C" int flock(int fd, int operation) noexcept {
    if (!faults.has_no_flock) return static_cast<int>(syscall(SYS_flock, fd, operation));
    errno = ENOLCK;
    return -1;
}

extern "C" int fallocate(int fd, int mode, off_t offset, off_t length) {
    if (!faults.has_no_fallocate) return static_cast<int>(syscall(SYS_fallocate, fd, mode, offset, length));
    errno = EOPNOTSUPP;
    return -1;
}

extern "C" ssize_t pwrite(int fd, void const* data, size_t size, off_t offset) {
    if (faults.good_writes > 0) {
        --faults.good_writes;
        return syscall(SYS_pwrite64, fd, data, size, offset);
    }
    errno = EIO;
    return -1;
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
