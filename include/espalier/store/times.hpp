#pragma once

#include "espalier/search/times.hpp"

#include <filesystem>
#include <optional>
#include <span>
#include <vector>

namespace espalier::store {

/// Measured times that runs share, in one HDF5 file with a checksum. Several processes may use it at once: a change is
/// made under a lock (`<file>.lock`), and readers see the file before it or after it.
class TimesFile {
public:
    enum class IfDamaged : std::uint8_t {
        refuse,    ///< InputError: the file is a user's own
        set_aside, ///< it is renamed, with a warning: it can be made again
    };
    explicit TimesFile(std::filesystem::path file, IfDamaged damaged = IfDamaged::refuse)
        : file_(std::move(file)), damaged_(damaged) {}
    /// The one in the user's cache folder, or the one that is named.
    [[nodiscard]] static TimesFile of(std::string const& name);

    [[nodiscard]] std::filesystem::path const& path() const { return file_; }
    /// Nothing if there is no file. Throws InputError.
    [[nodiscard]] std::vector<search::MeasuredTime> read() const;
    /// Adds times; one that is there already under the same key is replaced. Throws SystemError if it cannot be locked
    /// or written, and InputError.
    void add(std::span<search::MeasuredTime const> times) const;

private:
    std::filesystem::path file_;
    IfDamaged damaged_;
};

/// Null if there is none.
[[nodiscard]] search::MeasuredTime const* find_time(std::span<search::MeasuredTime const> times,
                                                    search::TimeKey const& key);

} // namespace espalier::store
