#pragma once

#include "espalier/search/types.hpp"

#include <mutex>
#include <optional>
#include <unordered_map>

namespace espalier::search {

/// Results that were measured, by key: what is stored is not measured again, and what is decided follows from it.
/// Thread safe.
class MeasuredRecords {
public:
    void add(ResultRecord const& record) {
        std::lock_guard const lock(mutex_);
        records_.try_emplace(record.key, record);
    }
    [[nodiscard]] std::optional<ResultRecord> find(std::uint64_t key) const {
        std::lock_guard const lock(mutex_);
        auto const found = records_.find(key);
        return found == records_.end() ? std::nullopt : std::optional(found->second);
    }

private:
    mutable std::mutex mutex_;
    std::unordered_map<std::uint64_t, ResultRecord> records_;
};

} // namespace espalier::search
