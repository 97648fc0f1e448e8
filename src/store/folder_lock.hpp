#pragma once

#include <filesystem>
#include <string>

namespace espalier::store {

/// The lock of a run folder: `lock` in it, held by flock, and by its mere existence where the file system has no flock.
/// It names its owner. Removed when released.
class FolderLock {
public:
    /// Throws InputError if another process has it, SystemError if it cannot be made.
    explicit FolderLock(std::filesystem::path const& folder);
    /// Takes over a lock that was given up by `release`.
    FolderLock(std::filesystem::path const& folder, int descriptor);
    ~FolderLock();
    FolderLock(FolderLock const&) = delete;
    FolderLock& operator=(FolderLock const&) = delete;

    /// The descriptor; this object does not own the lock any more.
    [[nodiscard]] int release();

private:
    std::filesystem::path file_;
    int descriptor_ = -1;
};

[[nodiscard]] bool is_locked(std::filesystem::path const& folder);

} // namespace espalier::store
