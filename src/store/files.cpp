#include "files.hpp"

#include "run_parts.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace espalier::store {
namespace {

bool write_all(int fd, std::span<std::byte const> content) {
    while (!content.empty()) {
        auto const written = ::write(fd, content.data(), content.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        content = content.subspan(static_cast<std::size_t>(written));
    }
    return true;
}

/// Some file systems cannot sync what they are asked to (a folder, a device); no data is lost by that.
bool sync(int fd) { return ::fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS; }

bool try_write_synced(std::filesystem::path const& file, std::span<std::byte const> content) {
    auto out = make_new(file);
    return out.get() >= 0 && write_all(out.get(), content) && sync(out.get()) && out.close() == 0;
}

void remove_if_plain(std::filesystem::path const& file) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(std::filesystem::symlink_status(file, ignored)))
        std::filesystem::remove(file, ignored);
}

} // namespace

std::filesystem::path temporary_name(std::filesystem::path const& file) { return file.string() + ".tmp"; }

Descriptor make_new(std::filesystem::path const& file) {
    auto const folder = open_folder_of(file);
    if (folder.get() < 0) return Descriptor(-1);
    auto const name = file.filename();
    ::unlinkat(folder.get(), name.c_str(), 0);
    return Descriptor(::openat(folder.get(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
}

void write_synced(std::filesystem::path const& file, std::span<std::byte const> content) {
    if (try_write_synced(file, content)) return;
    std::string const reason = std::strerror(errno);
    remove_if_plain(file);
    throw base::SystemError(
        "{}: cannot write {} bytes: {} (what was written before is untouched): free some space there, "
        "or choose another results.path",
        file.string(), content.size(), reason);
}

void rename_synced(std::filesystem::path const& from, std::filesystem::path const& to) {
    if (std::rename(from.c_str(), to.c_str()) != 0)
        throw base::SystemError("{}: cannot rename it to {}: {} (the last good file stays): make the folder writable",
                                from.string(), to.filename().string(), std::strerror(errno));
    sync_folder_of(to);
}

void sync_folder_of(std::filesystem::path const& file) {
    auto const folder = file.parent_path();
    Descriptor const opened(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (opened.get() >= 0) sync(opened.get());
}

Descriptor open_plain(std::filesystem::path const& file) {
    Descriptor opened(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (opened.get() < 0) throw base::InputError("{}", std::strerror(errno));
    struct stat status {};
    if (::fstat(opened.get(), &status) != 0 || !S_ISREG(status.st_mode))
        throw base::InputError("it is not a plain file");
    return opened;
}

std::uint64_t size_of(Descriptor const& file) {
    struct stat status {};
    return ::fstat(file.get(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

bool read_at(Descriptor const& file, std::uint64_t at, std::span<std::byte> out) {
    while (!out.empty()) {
        auto const got = ::pread(file.get(), out.data(), out.size(), static_cast<off_t>(at));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        out = out.subspan(static_cast<std::size_t>(got));
        at += static_cast<std::uint64_t>(got);
    }
    return true;
}

int write_at(Descriptor const& file, std::uint64_t at, std::span<std::byte const> bytes) {
    while (!bytes.empty()) {
        auto const written = ::pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(at));
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return errno;
        bytes = bytes.subspan(static_cast<std::size_t>(written));
        at += static_cast<std::uint64_t>(written);
    }
    return 0;
}

} // namespace espalier::store
