#pragma once

#include "espalier/cluster/collectives/collectives.hpp"
#include "espalier/reduction/state.hpp"

#include <functional>

/// Programs for the tests of collectives, by trying everything.
namespace espalier::tests {

inline int devices_of(std::vector<int> const& sizes) {
    int product = 1;
    for (auto const size : sizes) product *= size;
    return product;
}

inline std::vector<reduction::Program> all_programs(std::vector<int> const& sizes, std::size_t longest,
                                                    reduction::Request request) {
    using namespace reduction;
    std::vector<Program> found;
    Program program;
    std::function<void(State const&)> const go = [&](State const& state) {
        if (state.is_done(request)) return found.push_back(program);
        if (program.size() == longest) return;
        for (auto const& grouping : groupings(static_cast<int>(sizes.size())))
            for (int c = 0; c < 5; ++c) {
                auto next = state;
                auto const collective = static_cast<Collective>(c);
                if (next.apply(collective, groups(grouping, sizes), BroadcastRule::contained)) continue;
                program.push_back({grouping, collective});
                go(next);
                program.pop_back();
            }
    };
    go(State(devices_of(sizes), request));
    return found;
}

/// One reduction group of all devices.
inline cluster::collectives::Plan plan_of(reduction::Program const& program, std::vector<int> const& sizes,
                                          reduction::Request request = reduction::Request::all_reduce) {
    std::vector<int> all;
    for (int device = 0; device < devices_of(sizes); ++device) all.push_back(device);
    return {.id = 1,
            .task = "test",
            .text = reduction::text(program, {"node", "rank"}),
            .steps = reduction::lower(program, sizes, {all}),
            .groups = {all},
            .segments = 1,
            .request = request};
}

} // namespace espalier::tests
