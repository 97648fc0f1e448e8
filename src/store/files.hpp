#pragma once

#include "espalier/base/bytes.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <unistd.h>
#include <utility>

/// Plain files that survive a crash: nothing is visible under its name before it is complete on disk. No file is made
/// through a link: whoever may write into a run folder must not make us write elsewhere.
namespace espalier::store {

/// Owns a file descriptor; negative if opening failed.
class Descriptor {
public:
    explicit Descriptor(int fd) : fd_(fd) {}
    ~Descriptor() { close(); }
    Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }

    [[nodiscard]] int get() const { return fd_; }
    [[nodiscard]] int release() { return std::exchange(fd_, -1); }
    /// The status of ::close, for those who need it.
    int close() { return fd_ < 0 ? 0 : ::close(release()); }

private:
    int fd_;
};

/// `<file>.tmp`.
[[nodiscard]] std::filesystem::path temporary_name(std::filesystem::path const& file);
/// Makes a new file for reading and writing. What is there under its name is removed first (of a link: the link),
/// unless it is a folder. Negative with errno set if that fails.
[[nodiscard]] Descriptor make_new(std::filesystem::path const& file);
/// Writes to a new file and syncs. On failure removes the file and throws SystemError.
void write_synced(std::filesystem::path const& file, std::span<std::byte const> content);
/// Renames over what is there, and syncs the folder. Throws SystemError.
void rename_synced(std::filesystem::path const& from, std::filesystem::path const& to);
/// So that the names in it survive a crash of the machine.
void sync_folder_of(std::filesystem::path const& file);

/// To read. Never waits, as opening a pipe would. Throws InputError if it is missing or not a plain file: `No such file
/// or directory`, `it is not a plain file`.
[[nodiscard]] Descriptor open_plain(std::filesystem::path const& file);
[[nodiscard]] std::uint64_t size_of(Descriptor const& file);
/// All of `out`; false if the file is shorter or cannot be read.
[[nodiscard]] bool read_at(Descriptor const& file, std::uint64_t at, std::span<std::byte> out);
/// The number of the error; 0 if all was written.
[[nodiscard]] int write_at(Descriptor const& file, std::uint64_t at, std::span<std::byte const> bytes);

} // namespace espalier::store
