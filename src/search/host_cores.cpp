#include "espalier/search/host_cores.hpp"

#include "espalier/base/error.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <thread>
#include <unistd.h>

namespace espalier::search {
namespace {

int open_lock(std::filesystem::path const& file) {
    auto const fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        throw base::SystemError("{}: cannot open the lock of this host's cores: {} (measuring needs it): make its "
                                "folder writable, or set TMPDIR to another one",
                                file.string(), std::strerror(errno));
    return fd;
}

bool try_lock(int fd, int how) { return ::flock(fd, how | LOCK_NB) == 0; }

void unlock(int fd) { ::flock(fd, LOCK_UN); }

void pause() { std::this_thread::sleep_for(std::chrono::microseconds(200)); }

/// Throws Stopped.
void lock(int fd, base::StopToken const& stop) {
    for (; !try_lock(fd, LOCK_EX); pause()) stop.check();
}

} // namespace

std::filesystem::path HostCores::default_lock() {
    return std::filesystem::temp_directory_path() / ("espalier-cores-" + std::to_string(::getuid()));
}

HostCores::HostCores(std::filesystem::path const& file) : work_(open_lock(file.string() + ".work")), wish_(-1) {
    try {
        wish_ = open_lock(file.string() + ".wish");
    } catch (...) {
        ::close(work_);
        throw;
    }
}

HostCores::~HostCores() {
    ::close(work_);
    ::close(wish_);
}

void HostCores::share(base::StopToken const& stop) {
    for (; !stop.is_raised(); pause()) {
        if (!try_lock(wish_, LOCK_SH)) { // somebody measures, or waits to
            leave();
            continue;
        }
        has_share_ = has_share_ || try_lock(work_, LOCK_SH);
        unlock(wish_);
        if (has_share_) return;
    }
}

void HostCores::leave() {
    if (has_share_) unlock(work_);
    has_share_ = false;
}

void HostCores::take(base::StopToken const& stop) {
    leave(); // two who waited for each other's share would wait forever
    lock(wish_, stop);
    try {
        lock(work_, stop);
    } catch (base::Stopped const&) {
        unlock(wish_);
        throw;
    }
}

void HostCores::give_back() {
    unlock(work_);
    unlock(wish_);
}

} // namespace espalier::search
