#pragma once

#include <cstdint>
#include <vector>

namespace espalier::analysis {

struct Interval {
    std::int64_t from = 0;
    std::int64_t to = 0;

    auto operator<=>(Interval const&) const = default;
};

/// How much time a set of intervals covers, and the gaps between them, in bounded memory.
///
/// Intervals may come in any order as long as none is late by more than half of the `pending` ones; what is later
/// counts only from where the union was closed.
class IntervalUnion {
public:
    /// Gaps shorter than `min_gap` are not kept. `outer` gets the joined intervals too, and must live as long.
    explicit IntervalUnion(std::int64_t min_gap = 0, std::size_t pending = 1u << 20, IntervalUnion* outer = nullptr)
        : min_gap_(min_gap), pending_limit_(pending), outer_(outer) {}

    void add(std::int64_t from, std::int64_t to) {
        if (to <= from) return;
        pending_.push_back({from, to});
        if (pending_.size() >= pending_limit_) close(pending_limit_ / 2);
    }
    /// After the last interval.
    void finish();
    [[nodiscard]] std::int64_t covered() const { return covered_; }
    /// In the order of time, without what is before the first interval and after the last.
    [[nodiscard]] std::vector<Interval> const& gaps() const { return gaps_; }
    [[nodiscard]] Interval span() const { return {first_, last_.to}; }

private:
    void close(std::size_t count);
    void close_last();

    std::int64_t min_gap_;
    std::size_t pending_limit_;
    IntervalUnion* outer_;
    std::vector<Interval> pending_;
    std::vector<Interval> gaps_;
    Interval last_; ///< the run of intervals that may still grow
    std::int64_t first_ = 0;
    std::int64_t covered_ = 0; ///< without last_ until finish()
    bool has_any_ = false;
};

} // namespace espalier::analysis
