#include "espalier/search/records.hpp"

#include <algorithm>

namespace espalier::search {

std::vector<EmitGroup> join_by_key(std::vector<EmitRecord> records) {
    std::sort(records.begin(), records.end());
    records.erase(std::unique(records.begin(), records.end()), records.end());
    std::vector<EmitGroup> groups;
    for (auto& record : records) {
        if (groups.empty() || groups.back().key != record.key) groups.push_back({record.key, {}});
        groups.back().values.push_back(std::move(record.bytes));
    }
    return groups;
}

void Bucket::pack(base::ByteWriter& writer) const {
    writer.put(stage);
    writer.put(list);
    writer.put(bits);
    writer.put(number);
}

Bucket Bucket::unpack(base::ByteReader& reader) {
    Bucket bucket{.stage = reader.get<std::int32_t>()};
    bucket.list = reader.get<std::int32_t>();
    bucket.bits = reader.get<std::int32_t>();
    bucket.number = reader.get<std::uint32_t>();
    return bucket;
}

int bucket_bits(std::uint64_t records) {
    constexpr std::uint64_t most_per_bucket = 1u << 14;
    int bits = 0;
    while (bits < 16 && (records >> bits) > most_per_bucket) ++bits;
    return bits;
}

void MemoryRecords::put(int stage, std::vector<EmitRecord> records) {
    std::ranges::sort(records, {}, &EmitRecord::key);
    std::lock_guard const lock(mutex_);
    by_stage_[stage] = std::move(records);
}

std::vector<EmitRecord> MemoryRecords::read(Bucket const& bucket, base::StopToken const&) const {
    std::lock_guard const lock(mutex_);
    auto const found = by_stage_.find(bucket.stage);
    if (found == by_stage_.end()) return {};
    auto const& all = found->second;
    return {std::ranges::lower_bound(all, bucket.first_key(), {}, &EmitRecord::key),
            std::ranges::upper_bound(all, bucket.last_key(), {}, &EmitRecord::key)};
}

} // namespace espalier::search
