#include "timeline.hpp"

#include <algorithm>

namespace espalier::analysis {

void TimelineBuilder::widen() {
    width_ns_ *= 2;
    for (auto& row : sums_)
        for (auto& sums : row.sums) {
            for (std::size_t i = 0; i < sums.size(); i += 2)
                sums[i / 2] = sums[i] + (i + 1 < sums.size() ? sums[i + 1] : 0);
            sums.resize((sums.size() + 1) / 2);
        }
}

std::vector<float> TimelineBuilder::shares(Sums const& sums, Series what, std::int64_t runtime_ns) const {
    auto const count = static_cast<std::size_t>((runtime_ns + width_ns_ - 1) / width_ns_);
    std::vector<float> shares(count, 0);
    for (std::size_t i = 0; i < std::min(count, sums.sums[what].size()); ++i) {
        auto const width = std::min(width_ns_, runtime_ns - static_cast<std::int64_t>(i) * width_ns_);
        auto const share =
            static_cast<double>(sums.sums[what][i]) / static_cast<double>(width * std::max(sums.threads, 1));
        shares[i] = static_cast<float>(std::min(share, 1.0));
    }
    return shares;
}

Timeline TimelineBuilder::finish(std::int64_t runtime_ns) const {
    Timeline timeline{.bin = 1e-9 * static_cast<double>(width_ns_)};
    for (auto const& row : sums_) {
        if (row.first_rank < 0) continue;
        timeline.rows.push_back({row.first_rank, row.last_rank, shares(row, busy, runtime_ns),
                                 shares(row, query, runtime_ns), shares(row, verify, runtime_ns),
                                 shares(row, wait, runtime_ns)});
        auto const& shares = timeline.rows.back().busy;
        timeline.busy.resize(std::max(timeline.busy.size(), shares.size()), 0);
        for (std::size_t i = 0; i < shares.size(); ++i)
            timeline.busy[i] += static_cast<double>(shares[i]) * row.threads;
    }
    return timeline;
}

} // namespace espalier::analysis
