#include "headline.hpp"

#include <algorithm>

namespace espalier::problems::placement {

std::vector<Best> best_of(std::vector<Pair> const& pairs, std::vector<search::ResultRecord> const& results) {
    std::vector<Best> best(pairs.size());
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        best[i].baseline_us = pairs[i].baseline_us();
        best[i].predicted_us = best[i].baseline_us;
    }
    for (auto const& record : results) {
        auto const result = to_result(record, pairs);
        auto& known = best[result.pair];
        // equally quick programs: the shorter one, then the one whose steps come first
        auto const is_better = !known.result || result.predicted_us < known.predicted_us ||
                               (result.predicted_us == known.predicted_us &&
                                std::pair(result.program.size(), result.program) <
                                    std::pair(known.result->program.size(), known.result->program));
        if (!is_better) continue;
        known.predicted_us = result.predicted_us;
        known.result = result;
    }
    return best;
}

Headline headline_of(std::vector<Pair> const& pairs, std::vector<Best> const& best) {
    Headline headline;
    double improved = 0, sum = 0;
    std::map<std::pair<int, int>, std::pair<double, double>> range; // system, reduction -> fastest, slowest
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        auto& [fastest, slowest] =
            range.try_emplace({pairs[i].system, pairs[i].reduction}, best[i].baseline_us, best[i].baseline_us)
                .first->second;
        fastest = std::min(fastest, best[i].baseline_us);
        slowest = std::max(slowest, best[i].baseline_us);
        if (!best[i].is_improved()) continue;
        ++improved;
        sum += best[i].speedup();
        headline.best_speedup = std::max(headline.best_speedup, best[i].speedup());
    }
    for (auto const& [_, times] : range)
        headline.placement_spread = std::max(headline.placement_spread, times.second / times.first);
    if (!pairs.empty()) headline.improved_share = improved / static_cast<double>(pairs.size());
    if (improved > 0) headline.mean_speedup = sum / improved;
    return headline;
}

} // namespace espalier::problems::placement
