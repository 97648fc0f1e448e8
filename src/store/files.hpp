#pragma once

#include "espalier/base/bytes.hpp"

#include <filesystem>
#include <span>
#include <unistd.h>
#include <utility>

/// Plain files that survive a crash: nothing is visible under its name before it is whole on disk.
namespace espalier::store {

/// Owns a file descriptor; negative if opening failed.
class Descriptor {
public:
    explicit Descriptor(int fd) : fd_(fd) {}
    ~Descriptor() { close(); }
    Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
    Descriptor& operator=(Descriptor&&) = delete;

    [[nodiscard]] int get() const { return fd_; }
    [[nodiscard]] int release() { return std::exchange(fd_, -1); }
    /// The status of ::close, for those who need it.
    int close() { return fd_ < 0 ? 0 : ::close(release()); }

private:
    int fd_;
};

/// `<file>.tmp`.
[[nodiscard]] std::filesystem::path temporary_name(std::filesystem::path const& file);
/// Writes and syncs. On failure removes the file and throws SystemError.
void write_synced(std::filesystem::path const& file, std::span<std::byte const> content);
/// Renames over what is there, and syncs the folder. Throws SystemError.
void rename_synced(std::filesystem::path const& from, std::filesystem::path const& to);
/// Throws InputError.
[[nodiscard]] base::Bytes read_whole(std::filesystem::path const& file);

} // namespace espalier::store
