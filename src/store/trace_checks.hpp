#pragma once

#include "espalier/store/shards.hpp"

#include <string>

/// Whether what a shard says can be true. Nothing behind the reader checks again, so what passes here must not overflow
/// or loop forever anywhere.
namespace espalier::store {

/// `threads = -5`; empty if nothing is out of range.
[[nodiscard]] std::string absurdity(ShardInfo const& info);

class EventCheck {
public:
    explicit EventCheck(ShardInfo const& info);
    /// `start_ns = 9223372036854775807`; empty if nothing is out of range.
    [[nodiscard]] std::string absurdity(trace::Event const& event) const;

private:
    std::int64_t threads_;
    std::int64_t first_ns_;
    std::int64_t last_ns_;
};

} // namespace espalier::store
