#include "folder_lock.hpp"

#include "files.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/log.hpp"
#include "espalier/base/system.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace espalier::store {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// What a lock file says: `pid 1234`, `host name`, `started 2026-01-31T12:00:00Z`, one per line.
struct Owner {
    long pid = 0;
    std::string host = "unknown";
    std::string started = "unknown";
};

Owner read_owner(fs::path const& file) {
    Owner owner;
    std::ifstream in(file);
    for (std::string key, value; in >> key >> value;) {
        if (key == "pid") owner.pid = std::strtol(value.c_str(), nullptr, 10);
        if (key == "host") owner.host = value;
        if (key == "started") owner.started = value;
    }
    return owner;
}

void write_owner(int fd, fs::path const& file) {
    auto const text =
        fmt::format("pid {}\nhost {}\nstarted {}\n", ::getpid(), base::host_name(), base::utc_text(base::wall_ns()));
    if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
        throw base::SystemError("{}: cannot write the lock: {}: free some space there, or choose another results.path",
                                file.string(), std::strerror(errno));
}

/// Only a process of this host can be found dead.
bool may_live(Owner const& owner) {
    return owner.pid <= 0 || owner.host != base::host_name() || ::kill(static_cast<pid_t>(owner.pid), 0) == 0 ||
           errno != ESRCH;
}

[[noreturn]] void refuse(fs::path const& file) {
    auto const owner = read_owner(file);
    throw base::InputError(
        "{}: process {} on host {} has been writing this run folder since {} (two writers would destroy it): wait for "
        "it, or choose another results.path; if you started this with mpiexec or srun, the ranks did not "
        "find each other: use the launcher of the MPI library that espalier was built with; if that "
        "process is dead, remove the lock file",
        file.string(), owner.pid, owner.host, owner.started);
}

enum class Attempt { locked, held_by_other, unsupported };

Attempt try_flock(int fd, int operation) {
    while (::flock(fd, operation | LOCK_NB) != 0) {
        if (errno == EINTR) continue;
        return errno == EWOULDBLOCK ? Attempt::held_by_other : Attempt::unsupported;
    }
    return Attempt::locked;
}

/// Readers that ask whether a folder is locked hold the lock for an instant, so one refusal says little.
Attempt try_flock_patiently(int fd) {
    auto attempt = try_flock(fd, LOCK_EX);
    for (int i = 0; i < 10 && attempt == Attempt::held_by_other; ++i) {
        std::this_thread::sleep_for(20ms);
        attempt = try_flock(fd, LOCK_EX);
    }
    return attempt;
}

/// False if the owner removed the file between our opening and our locking it.
bool is_still(int fd, fs::path const& file) {
    struct stat opened {};
    struct stat named {};
    return ::fstat(fd, &opened) == 0 && ::lstat(file.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
           opened.st_dev == named.st_dev;
}

/// False of a pipe, and of a file that has a second name: writing the owner would destroy what it holds.
bool is_lock_file(int fd) {
    struct stat status {};
    return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink < 2;
}

struct Opened {
    Descriptor descriptor;
    bool is_new = false;
};

Opened open_lock(fs::path const& file) {
    auto const made = ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (made >= 0) return {Descriptor(made), true};
    if (errno == EEXIST) return {Descriptor(::open(file.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)), false};
    return {Descriptor(-1), false};
}

/// Without flock the mere existence of a lock file is the lock. True if it is ours now.
bool lock_by_existence(Opened const& opened, fs::path const& file) {
    if (opened.is_new) {
        base::log::warn(
            "{}: this file system has no flock; if espalier is killed, the lock file may have to be removed by hand",
            file.string());
        return true;
    }
    if (may_live(read_owner(file))) refuse(file);
    ::unlink(file.c_str());
    return false;
}

bool is_ours(Opened const& opened, fs::path const& file) {
    auto const attempt = try_flock_patiently(opened.descriptor.get());
    if (attempt == Attempt::held_by_other) refuse(file);
    if (attempt == Attempt::unsupported) return lock_by_existence(opened, file);
    return is_still(opened.descriptor.get(), file);
}

/// The descriptor of the locked file; -1 if its owner has just removed it, to try again.
int try_lock(fs::path const& file) {
    auto opened = open_lock(file);
    if (opened.descriptor.get() < 0 && errno == ENOENT && fs::is_directory(file.parent_path())) return -1;
    if (opened.descriptor.get() < 0)
        throw base::InputError("{}: cannot make the lock file: {} (a run is written into its folder): make the folder "
                               "writable, or choose another results.path",
                               file.string(), std::strerror(errno));
    if (!is_lock_file(opened.descriptor.get()))
        throw base::InputError(
            "{}: is not a lock file, but a pipe or another file's second name (a run is written into "
            "its folder): remove it, or choose another results.path",
            file.string());
    return is_ours(opened, file) ? opened.descriptor.release() : -1;
}

} // namespace

// The delegated constructor makes the object complete, so that its destructor releases what `acquire` left.
FolderLock::FolderLock(fs::path const& folder) : FolderLock(folder, -1) {
    while (descriptor_ < 0) descriptor_ = try_lock(file_);
    write_owner(descriptor_, file_);
}

FolderLock::FolderLock(fs::path const& folder, int descriptor) : file_(folder / "lock"), descriptor_(descriptor) {}

FolderLock::~FolderLock() {
    if (descriptor_ < 0) return;
    ::unlink(file_.c_str());
    ::close(descriptor_);
}

int FolderLock::release() { return std::exchange(descriptor_, -1); }

bool is_locked(fs::path const& folder) {
    auto const file = folder / "lock";
    Descriptor const opened(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (opened.get() < 0) return false;
    auto const attempt = try_flock(opened.get(), LOCK_SH);
    return attempt == Attempt::held_by_other || (attempt == Attempt::unsupported && may_live(read_owner(file)));
}

} // namespace espalier::store
