#pragma once

#include "h5.hpp"

#include <string>

namespace espalier::store {

/// An HDF5 file that grows batch by batch, each flushed, so that a killed writer leaves a readable file.
///
/// The disk space of a batch is reserved before HDF5 changes anything, so a full disk leaves what was there intact. If
/// writing fails all the same, the file is abandoned: HDF5 goes on into memory that nobody reads, because it would
/// otherwise try again when the file is closed and when the process ends. Used by one thread.
class ShardFile {
public:
    enum class Existing { replace, refuse };
    /// Makes the folder as well. Throws SystemError.
    ShardFile(std::filesystem::path const& file, Existing existing);
    ~ShardFile();
    ShardFile(ShardFile const&) = delete;
    ShardFile& operator=(ShardFile const&) = delete;

    [[nodiscard]] hid_t id() const { return file_; }
    /// Runs `work`, which adds about `bytes`, and flushes. Throws SystemError; from then on every call does so.
    template <class Work>
    void change(std::size_t bytes, Work&& work) {
        h5::be_quiet();
        refuse_if_failed();
        try {
            reserve(bytes);
            work();
            h5::check(H5Fflush(file_, H5F_SCOPE_GLOBAL), "flush the file");
        } catch (h5::Failure const& failure) {
            abandon(failure.what());
            refuse_if_failed();
        }
    }
    /// Until the disk itself has it. Throws SystemError.
    void sync();

private:
    [[nodiscard]] int descriptor() const;
    void reserve(std::size_t bytes);
    void abandon(std::string why);
    void refuse_if_failed() const;

    std::filesystem::path path_;
    h5::File file_;
    std::string failure_; ///< why the file was abandoned; empty while it is fine
};

} // namespace espalier::store
