#include "holdings.hpp"
#include "pictures.hpp"

#include "espalier/base/units.hpp"

#include <fmt/ranges.h>

#include <algorithm>

namespace espalier::problems::placement {
namespace {

constexpr std::size_t shown_groups = 8;

/// `0-15` or `0, 16, 32, 48`.
std::string list_text(std::vector<int> const& list) {
    bool is_run = list.size() > 2;
    for (std::size_t i = 1; i < list.size(); ++i) is_run = is_run && list[i] == list[i - 1] + 1;
    if (is_run) return fmt::format("{}-{}", list.front(), list.back());
    if (list.size() <= 16) return fmt::format("{}", fmt::join(list, ", "));
    return fmt::format("{}, {}, ... {} ({} devices)", list[0], list[1], list.back(), list.size());
}

std::string held_text(Holdings const& holdings, std::vector<int> const& devices) {
    std::string text;
    auto const shown = std::min<std::size_t>(holdings.count(), 4);
    for (std::size_t device = 0; device < shown; ++device) {
        auto const chunks = holdings.chunks(device);
        text += fmt::format("      device {}: {}\n", devices[device],
                            chunks.empty()                      ? "nothing"
                            : chunks.size() == holdings.count() ? "all chunks"
                                                                : fmt::format("{} of {} chunks: {}", chunks.size(),
                                                                              holdings.count(), list_text(chunks)));
    }
    if (holdings.count() > shown) text += fmt::format("      ... and {} more\n", holdings.count() - shown);
    return text;
}

} // namespace

std::string explain(Pair const& pair, Result const& result) {
    auto const lowered = pair.lower(result.program);
    auto const costs =
        reduction::step_costs(lowered, pair.hierarchy, static_cast<double>(pair.payload), pair.start_share());
    Holdings holdings(pair);
    auto text =
        fmt::format("placement {} (a row per axis, a column per level), reduction {}, {} per device\n"
                    "{} groups of {} devices, {} chunks each; the first group is {}\n",
                    pair.matrix_text(), pair.reduction_text(), base::format_bytes(pair.payload), pair.groups.size(),
                    pair.groups.front().size(), pair.groups.front().size(), list_text(pair.groups.front()));
    for (std::size_t i = 0; i < result.program.size(); ++i) {
        auto const& step = result.program[i];
        holdings.apply(step);
        text +=
            fmt::format("\n{}. {}: {:.2f} us as a {}, {} groups of {}\n", i + 1, reduction::text({step}, pair.names),
                        1e6 * costs[i].seconds, costs[i].is_ring ? "ring" : "tree", lowered[i].groups.size(),
                        lowered[i].groups.empty() ? 0 : lowered[i].groups.front().size());
        for (std::size_t g = 0; g < std::min(shown_groups, lowered[i].groups.size()); ++g)
            text += fmt::format("    group {}: devices {}\n", g + 1, list_text(lowered[i].groups[g]));
        if (lowered[i].groups.size() > shown_groups)
            text += fmt::format("    ... and {} more groups\n", lowered[i].groups.size() - shown_groups);
        text += "    bytes over the busiest link of a";
        for (std::size_t level = 0; level < pair.hierarchy.size(); ++level)
            text += fmt::format("{} {}: {}", level > 0 ? "," : "", pair.hierarchy[level].name,
                                base::human_bytes(costs[i].level_bytes[level]));
        text += "\n    then in the first group\n" + held_text(holdings, pair.groups.front());
    }
    if (!pair.ends_in_order(result.program))
        text += "\nthe chunks do not end in the order of the devices: who gathers them must know\n";
    if (result.segments > 1)
        text += fmt::format(
            "\nsteps are told for the whole payload; {} segments overlap, so that all takes less than their "
            "sum\n",
            result.segments);
    return text + fmt::format("\nin all {:.2f} us{}; one collective over the whole group takes {:.2f} us\n",
                              result.predicted_us,
                              result.segments > 1 ? fmt::format(" in {} overlapping segments", result.segments) : "",
                              pair.baseline_us());
}

} // namespace espalier::problems::placement
