#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace espalier::cluster {

enum class PolicyKind : std::uint8_t { fixed, omp_dynamic, hybrid }; ///< `static`, `omp-dynamic`, `hybrid` in YAML

/// Decides how much a member gets, how long it may be silent and how much is called back. Pure: it sends nothing, holds
/// no queue, and every decision is tested in one process.
class BatchPolicy {
public:
    struct Options {
        PolicyKind kind = PolicyKind::hybrid;
        std::int64_t budget_ns = 200'000'000;
        std::int64_t min_budget_ns = 5'000'000;
        std::size_t max_batch = 64; ///< subtrees
        std::size_t max_gift = 256; ///< subtrees asked of a rich member at once
    };
    explicit BatchPolicy(Options options) : options_(options) {}

    [[nodiscard]] bool is_balancing() const { return options_.kind == PolicyKind::hybrid; }
    /// Subtrees for a hungry member: leaves as much for everyone else, twice.
    [[nodiscard]] std::size_t batch_size(std::size_t queued, std::size_t members) const {
        return std::clamp<std::size_t>(queued / (2 * std::max<std::size_t>(members, 1)), 1, options_.max_batch);
    }
    /// Subtrees for a member that is idle again so long after it got `last`: twice as many if that is soon, else half.
    /// Subtrees may be huge, so it begins with one; but small ones, one by one, cost a message each, and a rank of many
    /// threads would never have enough of them.
    [[nodiscard]] std::size_t next_portion(std::size_t last, std::int64_t since_ns, std::size_t idle_threads) const {
        auto const next = since_ns < options_.min_budget_ns ? 2 * last : last / 2;
        return std::clamp<std::size_t>(next, 1, std::max<std::size_t>(idle_threads, 1));
    }
    /// Short when the queue is: then news matter more than messages. A flat hub with many members keeps it long.
    [[nodiscard]] std::int64_t budget_ns(std::size_t queued, std::size_t members, std::size_t hungry) const {
        auto const busy_floor =
            static_cast<std::int64_t>(members) * 20'000; // 5 us a message, a quarter of the hub's time
        auto const shortest = std::min(std::max(options_.min_budget_ns, busy_floor), options_.budget_ns);
        if (hungry > 0) return shortest;
        return queued >= members ? options_.budget_ns : std::max(shortest, options_.budget_ns / 4);
    }
    /// Subtrees that the queue should hold so that a hungry member need not wait for another one to give.
    [[nodiscard]] std::size_t reserve(std::size_t members) const { return members > 1 ? members : 0; }
    [[nodiscard]] std::size_t gift(std::size_t wanted) const {
        return std::clamp<std::size_t>(wanted, 1, options_.max_gift);
    }

private:
    Options options_;
};

} // namespace espalier::cluster
