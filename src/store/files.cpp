#include "files.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

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

/// Some file systems cannot sync what they are asked to (a folder, a device); that is no loss of data.
bool sync(int fd) { return ::fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS; }

bool try_write_synced(std::filesystem::path const& file, std::span<std::byte const> content) {
    Descriptor out(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    return out.get() >= 0 && write_all(out.get(), content) && sync(out.get()) && out.close() == 0;
}

void remove_if_plain(std::filesystem::path const& file) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(file, ignored)) std::filesystem::remove(file, ignored);
}

} // namespace

std::filesystem::path temporary_name(std::filesystem::path const& file) { return file.string() + ".tmp"; }

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
    Descriptor const folder(::open(to.parent_path().empty() ? "." : to.parent_path().c_str(), O_RDONLY | O_CLOEXEC));
    if (folder.get() >= 0) sync(folder.get());
}

base::Bytes read_whole(std::filesystem::path const& file) {
    Descriptor const in(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    base::Bytes content;
    std::size_t size = 0;
    while (in.get() >= 0) {
        content.resize(size + (1u << 20));
        auto const got = ::read(in.get(), content.data() + size, content.size() - size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) break;
        size += static_cast<std::size_t>(got);
        content.resize(size);
        if (got == 0) return content;
    }
    throw base::InputError("{}: cannot read it: {}: check that it is there and readable", file.string(),
                           std::strerror(errno));
}

} // namespace espalier::store
