#pragma once

#include "espalier/base/cluster_options.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace espalier::cluster {

/// Decides how much a member gets, how long it may be silent and how much is called back. Pure: it sends nothing, holds
/// no queue, and every decision is tested in one process.
class BatchPolicy {
public:
    struct Options {
        base::Policy kind = base::ClusterOptions{}.policy;
        std::int64_t budget_ns = base::ClusterOptions{}.budget.count();
        std::int64_t min_budget_ns = 5'000'000;
        std::size_t max_batch = 64; ///< subtrees
        std::size_t max_gift = 256; ///< subtrees asked of a rich member at once, unless it has very many
    };
    explicit BatchPolicy(Options options) : options_(options) {}

    [[nodiscard]] bool is_balancing() const { return base::info(options_.kind).ranks_share; }
    /// Subtrees for a hungry member: leaves as much for everyone else, twice.
    [[nodiscard]] std::size_t batch_size(std::size_t queued, std::size_t members) const {
        return std::clamp<std::size_t>(queued / (2 * std::max<std::size_t>(members, 1)), 1, options_.max_batch);
    }
    /// Subtrees for a member that is idle again this long after it got `last`: twice as many if that is soon, else
    /// half. Subtrees may be huge, so it begins with one; but near the end of a search thousands of tiny ones are left,
    /// and one by one they cost a message each and less time than the message: a member of few threads would do nothing
    /// but wait.
    [[nodiscard]] std::size_t next_portion(std::size_t last, std::int64_t since_ns, std::size_t idle_threads) const {
        auto const next = since_ns < options_.min_budget_ns ? 2 * last : last / 2;
        return std::clamp<std::size_t>(next, 1, std::max(idle_threads, options_.max_gift));
    }
    /// Short when the queue is: then news matters more than messages. A flat master with many members keeps it long.
    [[nodiscard]] std::int64_t budget_ns(std::size_t queued, std::size_t members, std::size_t hungry) const {
        auto const busy_floor =
            static_cast<std::int64_t>(members) * 20'000; // 5 us per message, a quarter of the master's time
        auto const shortest = std::min(std::max(options_.min_budget_ns, busy_floor), options_.budget_ns);
        if (hungry > 0) return shortest;
        return queued >= members ? options_.budget_ns : std::max(shortest, options_.budget_ns / 4);
    }
    /// Subtrees that the queue should hold so that a hungry member need not wait for another one to give: one for each,
    /// and two meals of those who eat many small ones at a time.
    [[nodiscard]] std::size_t reserve(std::size_t members, std::size_t portions = 0) const {
        return members > 1 ? members + std::min(2 * portions, options_.max_gift) : 0;
    }
    /// A commit carries all that a member keeps, so that one who keeps very much gives more at once, not more often.
    [[nodiscard]] std::size_t gift(std::size_t wanted) const {
        return std::clamp<std::size_t>(wanted, 1, std::max(options_.max_gift, wanted / 4));
    }

private:
    Options options_;
};

} // namespace espalier::cluster
