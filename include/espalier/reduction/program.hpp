#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::reduction {

enum class Collective : std::uint8_t { all_reduce, reduce, reduce_scatter, all_gather, broadcast };
inline constexpr std::array<std::string_view, 5> collective_names{"AllReduce", "Reduce", "ReduceScatter", "AllGather",
                                                                  "Broadcast"};
[[nodiscard]] constexpr std::string_view name(Collective collective) {
    return collective_names[static_cast<std::size_t>(collective)];
}

/// What a group asks for: the whole sum everywhere, a part of it on each device, or everybody's part everywhere.
enum class Request : std::uint8_t { all_reduce, reduce_scatter, all_gather };
struct RequestInfo {
    std::string_view name;
    Collective collective;        ///< that does it alone
    bool starts_in_parts = false; ///< a device holds its own chunk only
    bool ends_in_parts = false;   ///< one chunk is enough
};
inline constexpr std::array<RequestInfo, 3> requests{{
    {.name = "all_reduce", .collective = Collective::all_reduce},
    {.name = "reduce_scatter", .collective = Collective::reduce_scatter, .ends_in_parts = true},
    {.name = "all_gather", .collective = Collective::all_gather, .starts_in_parts = true},
}};
[[nodiscard]] constexpr RequestInfo const& info(Request request) { return requests[static_cast<std::size_t>(request)]; }
/// Of the payload that a device of a group of so many holds at the beginning.
[[nodiscard]] constexpr double start_share(Request request, std::size_t devices) {
    return info(request).starts_in_parts ? 1.0 / static_cast<double>(devices) : 1;
}

/// How the devices of a reduction group are divided for one step. Devices are numbers in mixed radix over the factors,
/// outermost first. The digits in [from, to) vary within a group, the others are fixed.
///
/// to = last: `InsideGroup` of level `from`. Else `Parallel`: for every value of the digits after `to`; or `Master`:
/// only where these are 0, so that the other devices sit out.
struct Grouping {
    std::uint8_t from = 0;
    std::uint8_t to = 0;
    bool is_master = false;

    auto operator<=>(Grouping const&) const = default;
};
/// All that differ, of so many levels: n (n + 1) / 2 ranges, those that end early twice.
[[nodiscard]] std::vector<Grouping> groupings(int levels);

struct Step {
    Grouping grouping;
    Collective collective = Collective::all_reduce;

    auto operator<=>(Step const&) const = default;
};
using Program = std::vector<Step>;
/// One collective over the whole group: what a program is compared with.
[[nodiscard]] Program single_step(Request request, int levels);

/// The groups of a step, each in the order of its devices; groups of one are left out.
[[nodiscard]] std::vector<std::vector<int>> groups(Grouping const& grouping, std::vector<int> const& sizes);

/// `(node, InsideGroup, ReduceScatter)`; names are of the levels with a factor, outermost first.
[[nodiscard]] std::string slice_text(Grouping const& grouping, std::vector<std::string> const& names);
[[nodiscard]] std::string form_text(Grouping const& grouping, std::vector<std::string> const& names);
[[nodiscard]] std::string text(Program const& program, std::vector<std::string> const& names);

} // namespace espalier::reduction
