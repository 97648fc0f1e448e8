#pragma once

#include "h5.hpp"

#include "espalier/store/run_file.hpp"

/// A run record inside an HDF5 file: run.h5 has one at its root, a checkpoint one in /run.
namespace espalier::store {

/// /results and /programs, encoded once: a search finds results one after the other, and its files are written again
/// and again. What was encoded before is copied as it is, compressed.
class EncodedResults {
public:
    /// Adds what is new. Starts again if the list is not a longer one: branch and bound drops what was beaten.
    void update(std::vector<search::ResultRecord> const& results);
    void copy_to(hid_t at) const;
    [[nodiscard]] std::size_t size() const { return keys_.size(); }

private:
    void start();
    void append(std::span<search::ResultRecord const> results);

    h5::File file_; ///< in memory
    h5::Dataset table_, text_, text_offsets_, payload_, offsets_;
    std::uint64_t text_bytes_ = 0;
    std::uint64_t payload_bytes_ = 0;
    std::vector<std::uint64_t> keys_; ///< of what is encoded
};

[[nodiscard]] std::vector<search::ResultRecord> read_results(hid_t at);

/// All of it; `results` is brought up to date.
void write_record(hid_t at, RunRecord const& record, EncodedResults& results);
/// Throws InputError if it is of another schema version; `file` is for the message.
[[nodiscard]] RunRecord read_record(std::filesystem::path const& file, hid_t at);

} // namespace espalier::store
