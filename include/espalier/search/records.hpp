#pragma once

#include "espalier/base/stop.hpp"
#include "espalier/search/types.hpp"

#include <map>
#include <mutex>
#include <vector>

/// What a stage emits and how it is joined. Small joins happen at the master, all records at once. Large ones happen by
/// buckets of the key's high bits, each a root of the next stage that the worker who gets it joins, so that no rank's
/// memory grows with the number of records. Keys are content hashes, so that buckets are about equally full.
namespace espalier::search {

/// All records with one key: values sorted, each once.
struct EmitGroup {
    std::uint64_t key = 0;
    std::vector<base::Bytes> values;
};
/// Groups in the order of keys.
[[nodiscard]] std::vector<EmitGroup> join_by_key(std::vector<EmitRecord> records);

/// The records of a stage whose keys begin with the same bits. Part of a node, so that its problem packs it.
struct Bucket {
    std::int32_t stage = 0;   ///< that emitted them
    std::int32_t list = 0;    ///< of the shards that hold them: see RecordSource
    std::int32_t bits = 0;    ///< how many count: 0 .. 16
    std::uint32_t number = 0; ///< what they say

    [[nodiscard]] std::uint64_t first_key() const { return bits == 0 ? 0 : std::uint64_t{number} << (64 - bits); }
    [[nodiscard]] std::uint64_t last_key() const {
        return first_key() | (bits == 0 ? ~std::uint64_t{0} : ~std::uint64_t{0} >> bits);
    }
    void pack(base::ByteWriter& writer) const;
    [[nodiscard]] static Bucket unpack(base::ByteReader& reader);

    bool operator==(Bucket const&) const = default;
};
/// So that a bucket has some 10,000 records. A function of the number of records that were emitted, which does not
/// depend on ranks, threads and faults: neither does the number of nodes then.
[[nodiscard]] int bucket_bits(std::uint64_t records);

/// Where the records of finished stages are read. Thread safe.
class RecordSource {
public:
    virtual ~RecordSource() = default;
    /// In any order, and some may come twice. Throws Stopped, or InputError if a shard is missing or damaged.
    [[nodiscard]] virtual std::vector<EmitRecord> read(Bucket const& bucket, base::StopToken const& stop) const = 0;
};

/// The records of simulated ranks, which have no shards.
class MemoryRecords final : public RecordSource {
public:
    void put(int stage, std::vector<EmitRecord> records);
    [[nodiscard]] std::vector<EmitRecord> read(Bucket const& bucket, base::StopToken const& stop) const override;

private:
    mutable std::mutex mutex_;
    std::map<int, std::vector<EmitRecord>> by_stage_; ///< sorted by key
};

} // namespace espalier::search
