#pragma once

#include "espalier/analysis/analysis.hpp"

namespace espalier::analysis {

/// Sums of time in equal bins. The run's length need not be known: when the bins are full, each two become one.
class TimelineBuilder {
public:
    enum Series : std::size_t { busy, query, verify, wait, series };

    TimelineBuilder(std::size_t bins, std::size_t rows, int ranks)
        : bins_(std::max<std::size_t>(bins, 2)), rows_(std::min(rows, static_cast<std::size_t>(std::max(ranks, 1)))),
          ranks_(std::max(ranks, 1)), sums_(rows_) {}

    void add_rank(int rank, int threads) { sums_[row_of(rank)].note(rank, threads); }
    /// Times since the start of the window.
    void add(int rank, Series what, std::int64_t start_ns, std::int64_t duration_ns) {
        start_ns = std::max<std::int64_t>(start_ns, 0);
        while (start_ns + duration_ns > width_ns_ * static_cast<std::int64_t>(bins_)) widen();
        auto& sums = sums_[row_of(rank)].sums[what];
        for (auto at = start_ns / width_ns_; duration_ns > 0; ++at) {
            auto const part = std::min(duration_ns, (at + 1) * width_ns_ - start_ns);
            if (sums.size() <= static_cast<std::size_t>(at)) sums.resize(static_cast<std::size_t>(at) + 1);
            sums[static_cast<std::size_t>(at)] += part;
            start_ns += part;
            duration_ns -= part;
        }
    }
    [[nodiscard]] Timeline finish(std::int64_t runtime_ns) const;

private:
    struct Sums {
        int first_rank = -1, last_rank = -1, threads = 0;
        std::array<std::vector<std::int64_t>, series> sums;

        void note(int rank, int more) {
            if (first_rank < 0 || rank < first_rank) first_rank = rank;
            last_rank = std::max(last_rank, rank);
            threads += more;
        }
    };
    [[nodiscard]] std::size_t row_of(int rank) const {
        return std::min(rows_ - 1, static_cast<std::size_t>(rank) * rows_ / static_cast<std::size_t>(ranks_));
    }
    void widen();
    [[nodiscard]] std::vector<float> shares(Sums const& sums, Series what, std::int64_t runtime_ns) const;

    std::size_t bins_;
    std::size_t rows_;
    int ranks_;
    std::int64_t width_ns_ = 1 << 14;
    std::vector<Sums> sums_;
};

} // namespace espalier::analysis
