#pragma once

#include "espalier/search/any_problem.hpp"
#include "support/walk.hpp"

#include <algorithm>
#include <chrono>

/// Drives a pool of threads by hand, without a cluster.
namespace espalier::toys {

/// Runs the pool until nothing is unfinished; `meanwhile` is called again and again.
template <class Meanwhile>
void run_dry(search::ThreadedPool& pool, search::PackedNodes const& roots, Meanwhile&& meanwhile) {
    pool.run([&] {
        pool.add(roots);
        while (!pool.status().is_dry && !pool.failure()) {
            meanwhile();
            pool.wait(std::chrono::milliseconds(5));
        }
    });
}

/// Counts and sorted results of all stages; where a stage emits records, of those up to it.
template <search::SearchProblem P>
Walk search_all(P const& problem, search::PoolOptions const& options) {
    auto const any = search::erase(problem);
    auto const info = any->info();
    Walk walk{search::zero_counts(info), {}};
    auto roots = any->roots();
    for (int stage = 0; !roots.empty(); ++stage) {
        auto const pool = any->make_pool(options);
        run_dry(*pool, roots, [] {});
        auto harvest = pool->harvest(0);
        search::add_to(walk.counts, harvest.counts, info);
        walk.results.insert(walk.results.end(), harvest.results.begin(), harvest.results.end());
        auto const has_more = stage + 1 < info.stages && harvest.emits.empty();
        roots = has_more ? any->next_stage(stage, {}) : search::PackedNodes{};
    }
    std::ranges::sort(walk.results, {}, [](auto const& r) { return std::tie(r.cost, r.key, r.text); });
    if (info.has_bound && !walk.results.empty())
        std::erase_if(walk.results, [best = walk.results[0].cost](auto const& r) { return r.cost > best; });
    return walk;
}

inline std::vector<std::uint64_t> keys(std::vector<search::ResultRecord> const& results) {
    std::vector<std::uint64_t> keys;
    for (auto const& result : results) keys.push_back(result.key);
    std::ranges::sort(keys);
    return keys;
}

} // namespace espalier::toys
