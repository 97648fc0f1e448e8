#include "espalier/problems/placement/pairs.hpp"

#include "holdings.hpp"

#include "espalier/base/contract.hpp"
#include "espalier/base/units.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace espalier::problems::placement {
namespace {

struct System {
    reduction::Hierarchy hierarchy;
    std::vector<AxisConfig> axes;
};

std::vector<System> systems(PlacementConfig const& config) {
    System base{{}, config.axes};
    for (auto const& level : config.hierarchy)
        base.hierarchy.push_back({level.name, level.size, static_cast<double>(level.bandwidth),
                                  1e-9 * static_cast<double>(level.latency.count()), level.links});
    if (config.sweep.empty()) return {base};
    std::vector<System> list;
    for (auto const& system : config.sweep) {
        list.push_back({base.hierarchy, system.axes});
        for (std::size_t i = 0; i < system.sizes.size(); ++i) list.back().hierarchy[i].size = system.sizes[i];
    }
    return list;
}

/// A reduction with its axes as numbers.
struct Wanted {
    std::vector<int> axes;
    reduction::Request request{};
    std::uint64_t payload = 0;
    double weight = 1;
};

std::vector<Wanted> listed(PlacementConfig const& config, System const& system) {
    std::vector<Wanted> list;
    for (auto const& reduction : config.reductions) {
        list.push_back({{}, reduction.request, reduction.payload, reduction.weight});
        for (auto const& name : reduction.axes)
            list.back().axes.push_back(
                static_cast<int>(std::ranges::find(system.axes, name, &AxisConfig::name) - system.axes.begin()));
        std::ranges::sort(list.back().axes);
    }
    return list;
}

/// Every set of axes.
std::vector<Wanted> all_sets(PlacementConfig const& config, System const& system) {
    std::vector<Wanted> list;
    for (unsigned set = 1; set < 1u << system.axes.size(); ++set) {
        list.push_back({{}, reduction::Request::all_reduce, config.payload, 1});
        for (std::size_t axis = 0; axis < system.axes.size(); ++axis)
            if ((set >> axis & 1u) != 0) list.back().axes.push_back(static_cast<int>(axis));
    }
    return list;
}

std::vector<reduction::Matrix> matrices(System const& system) {
    std::vector<int> sizes;
    for (auto const& axis : system.axes) sizes.push_back(axis.size);
    return reduction::placements(sizes, system.hierarchy);
}

Pair make_pair(System const& system, reduction::Matrix const& matrix, Wanted const& wanted) {
    Pair pair{.hierarchy = system.hierarchy,
              .matrix = matrix,
              .axes = system.axes,
              .reduced = wanted.axes,
              .request = wanted.request,
              .payload = wanted.payload,
              .weight = wanted.weight};
    for (auto const& factor : reduction::factors(matrix, wanted.axes)) {
        pair.sizes.push_back(factor.size);
        pair.names.push_back(system.hierarchy[static_cast<std::size_t>(factor.level)].name);
    }
    return pair;
}

} // namespace

double Pair::start_share() const { return reduction::start_share(request, groups.front().size()); }

std::string Pair::matrix_text() const { return fmt::format("{}", matrix); }

std::string Pair::reduction_text() const {
    std::vector<std::string> names_of_axes;
    for (auto const axis : reduced) names_of_axes.push_back(axes[static_cast<std::size_t>(axis)].name);
    auto text = fmt::format("{}", fmt::join(names_of_axes, ", "));
    if (is_one_of_many) text += fmt::format(" ({})", base::format_bytes(payload));
    if (request == reduction::Request::all_reduce) return text;
    return fmt::format("{} {}", reduction::info(request).name, text);
}

Pair::Predicted Pair::predict(reduction::Lowered const& program, std::vector<std::int32_t> const& segments) const {
    constexpr double picoseconds = 1e6; // in a microsecond
    std::optional<Predicted> best;
    for (auto const count : segments) {
        auto const seconds =
            reduction::pipelined_seconds(program, hierarchy, static_cast<double>(payload), count, start_share());
        auto const us = std::round(1e6 * seconds * picoseconds) / picoseconds;
        if (!best || us < best->us) best = {us, count};
    }
    ESP_EXPECT(best);
    return *best;
}

double Pair::baseline_us() const { return predict(lower(reduction::single_step(request, levels())), {1}).us; }

bool Pair::ends_in_order(reduction::Program const& program) const {
    if (!reduction::info(request).ends_in_parts) return true;
    Holdings holdings(*this);
    for (auto const& step : program) holdings.apply(step);
    for (std::size_t device = 0; device < holdings.count(); ++device)
        if (holdings.chunks(device) != std::vector{static_cast<int>(device)}) return false;
    return true;
}

std::vector<Pair> pairs_of(PlacementConfig const& config) {
    std::vector<Pair> pairs;
    int number = 0;
    for (auto const& system : systems(config)) {
        auto const wanted = config.reductions.empty() ? all_sets(config, system) : listed(config, system);
        auto const all = matrices(system);
        for (std::size_t m = 0; m < all.size(); ++m)
            for (std::size_t r = 0; r < wanted.size(); ++r) {
                auto pair = make_pair(system, all[m], wanted[r]);
                if (pair.sizes.empty()) continue; // axes of size 1
                pair.system = number;
                pair.placement = static_cast<int>(m);
                pair.reduction = static_cast<int>(r);
                pair.is_one_of_many = config.reductions.size() > 1;
                pair.groups = reduction::reduction_groups(pair.matrix, pair.hierarchy, pair.reduced);
                pairs.push_back(std::move(pair));
            }
        ++number;
    }
    return pairs;
}

std::size_t placements_of(PlacementConfig const& config) {
    std::size_t count = 0;
    for (auto const& system : systems(config)) count += matrices(system).size();
    return count;
}

} // namespace espalier::problems::placement
