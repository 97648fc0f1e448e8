#pragma once

#include "espalier/base/contract.hpp"
#include "espalier/search/records.hpp"

#include <utility>
#include <vector>

namespace espalier::search {

/// A question to a solver, for the trace.
struct QuerySpan {
    std::int64_t start_ns = 0;
    std::int64_t duration_ns = 0;
    std::int64_t cpu_ns = 0;
};

/// What a thread found besides children in the chunk it works on: named counters and records for the next stage.
/// It becomes part of the ledger with the chunk, or not at all. Lives in the engine; a problem that wants it takes it
/// as `Notes&` in make_workspace and keeps the reference.
class Notes {
public:
    explicit Notes(ProblemInfo const& info, base::StopToken stop = {}, RecordSource const* records = nullptr)
        : stop_(stop), records_(records), counts_emits_(info.has_buckets), values_(info.counters.size(), 0),
          part_ns_(info.parts.size(), 0), part_samples_(info.parts.size(), 0) {}

    /// Whether the run stops. Long work of assess, expand and verify asks it and lets Stopped pass: its nodes then
    /// count as unfinished, untouched, so that the answer does not depend on when a run was stopped.
    [[nodiscard]] base::StopToken const& stop() const { return stop_; }

    void add(std::size_t counter, std::uint64_t n = 1) { values_[counter] += n; }
    void raise(std::size_t counter, std::uint64_t value) {
        if (value > values_[counter]) values_[counter] = value;
    }
    void emit(std::uint64_t key, base::Bytes bytes) {
        emits_.push_back({key, std::move(bytes)});
        if (counts_emits_) ++values_.back();
    }
    /// The records of a bucket, joined: how a node that is one expands. Throws as RecordSource does.
    [[nodiscard]] std::vector<EmitGroup> join(Bucket const& bucket) const {
        ESP_EXPECT(records_ != nullptr);
        return join_by_key(records_->read(bucket, stop_));
    }

    /// For the trace only: counts whatever becomes of the chunk.
    void add_query(QuerySpan const& query) { queries_.push_back(query); }
    /// Likewise: this much CPU time of expanding went into a part of it, by one sample; estimates are enough.
    void add_part(std::size_t part, std::int64_t ns) {
        part_ns_[part] += ns;
        ++part_samples_[part];
    }
    /// Likewise: this much CPU time of verifying went into proofs.
    void add_proof(std::int64_t cpu_ns) { proof_cpu_ns_ += cpu_ns; }

    [[nodiscard]] std::vector<std::uint64_t>& values() { return values_; }
    [[nodiscard]] std::vector<EmitRecord>& emits() { return emits_; }
    [[nodiscard]] std::vector<QuerySpan>& queries() { return queries_; }
    [[nodiscard]] std::vector<std::int64_t>& part_ns() { return part_ns_; }
    [[nodiscard]] std::vector<std::int64_t>& part_samples() { return part_samples_; }
    [[nodiscard]] std::int64_t take_proof_cpu_ns() { return std::exchange(proof_cpu_ns_, 0); }

private:
    base::StopToken stop_;
    RecordSource const* records_;
    bool counts_emits_; ///< in the last counter, which the engine adds
    std::vector<std::uint64_t> values_;
    std::vector<EmitRecord> emits_;
    std::vector<QuerySpan> queries_;
    std::vector<std::int64_t> part_ns_;
    std::vector<std::int64_t> part_samples_;
    std::int64_t proof_cpu_ns_ = 0;
};

} // namespace espalier::search
