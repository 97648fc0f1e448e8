#include "funnel.hpp"

namespace espalier::analysis::report {

search::Funnel plain_funnel(store::RunRecord const& record) {
    search::Funnel rows{{"nodes", record.counts.nodes, true, "visited"}};
    for (std::size_t i = 0; i < record.info.reasons.size(); ++i)
        rows.push_back({record.info.reasons[i], i < record.counts.funnel.size() ? record.counts.funnel[i] : 0, false,
                        "ended for this reason"});
    if (!record.info.is_counting) rows.push_back({"results", record.results.size(), true, "stored"});
    return rows;
}

} // namespace espalier::analysis::report
