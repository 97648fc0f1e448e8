#pragma once

#include "espalier/search/records.hpp"
#include "espalier/store/checkpoint.hpp"

#include <filesystem>
#include <memory>
#include <vector>

namespace espalier::store {

/// Which list of records: the execution that wrote it, and the stage that emitted them.
struct RecordListName {
    int segment = 1;
    int stage = 0;
};
/// `emit/segment-001/stage-000.h5`, relative to the run folder.
[[nodiscard]] std::filesystem::path record_list_name(RecordListName name);

/// Writes down which shards hold the records of a stage, completely or not at all. Throws SystemError.
void write_record_list(std::filesystem::path const& folder, RecordListName name, std::vector<EmitExtent> const& shards);
/// Throws InputError if it is missing or damaged.
[[nodiscard]] std::vector<EmitExtent> read_record_list(std::filesystem::path const& folder, RecordListName name);

/// The records of finished stages in a run folder, read bucket by bucket: of each shard only the bucket's own part, in
/// memory that does not depend on how many records there are. Shards that are still being written may be read. Thread
/// safe; one thread reads at a time.
class ListedRecords final : public search::RecordSource {
public:
    explicit ListedRecords(std::filesystem::path folder);
    ~ListedRecords() override;
    [[nodiscard]] std::vector<search::EmitRecord> read(search::Bucket const& bucket,
                                                       base::StopToken const& stop) const override;

private:
    struct Open;
    std::filesystem::path folder_;
    std::unique_ptr<Open> open_; ///< what was read last, and the lock
};

} // namespace espalier::store
