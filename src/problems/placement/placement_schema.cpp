#include "espalier/config/suggest.hpp"
#include "espalier/problems/placement/placement_config.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>

namespace espalier::problems::placement {

using namespace config; // the words of the table below

namespace {

using namespace std::chrono_literals;

constexpr std::int32_t most_devices = 65'536;
constexpr std::int32_t most_levels = 8;
constexpr std::int32_t most_split_levels = 5; ///< of more than one instance: states of 2 devices per level are searched
constexpr std::int64_t most_group = 4096;     ///< devices of a reduction group: sums of as many chunks are checked

/// The words of an enum's own table.
template <class Enum, class Table, class Name>
Scalar<Enum> choice_of(Table const& table, Name const& name) {
    std::vector<std::pair<std::string, Enum>> rows;
    for (auto const& row : table) rows.emplace_back(std::invoke(name, row), static_cast<Enum>(rows.size()));
    return choice<Enum>(rows);
}
Scalar<Request> request() { return choice_of<Request>(reduction::requests, &reduction::RequestInfo::name); }
Scalar<Broadcast> broadcast() { return choice_of<Broadcast>(reduction::broadcast_rule_names, std::identity{}); }
Scalar<std::int32_t> count() { return integer<std::int32_t>({1, most_devices}); }
Scalar<std::uint64_t> payload() { return size_bytes({1, 1ull << 50}); }

/// `[16, 15]` in a level's size: instances that differ, which nothing here can use.
Codec<std::int32_t> level_size() {
    auto const scalar = count();
    return {[scalar](Value const& value, Context const& at) -> std::optional<std::int32_t> {
                if (value.kind != Value::Kind::list) return read_scalar(scalar, value, at);
                at.error(value.place, fmt::format("{} is uneven: every instance of a level must have the same size; "
                                                  "leave the larger ones partly unused, and give one number",
                                                  at.name()));
                return std::nullopt;
            },
            scalar.write, [scalar] { return scalar.schema; }};
}

Section<LevelConfig> level_section() {
    Section<LevelConfig> section;
    section.field({"name", "of the level, e.g. node", "node"}, &LevelConfig::name, text())
        .field({"size", "instances in each instance of the level above", "4"}, &LevelConfig::size, level_size())
        .field({"bandwidth", "of a link that leaves an instance, each way, e.g. 8GB/s"}, &LevelConfig::bandwidth,
               config::bandwidth({1'000, 1'000'000'000'000'000}))
        .field({"latency", "of a message between instances, e.g. 10us"}, &LevelConfig::latency, duration({0s, 10s}))
        .field({"links", "NICs of a node, links of a device; messages share them"}, &LevelConfig::links, count());
    return section;
}

/// `{data: 16, shards: 4}`, in the order of writing.
Codec<std::vector<AxisConfig>> axes_codec() {
    auto const size = count();
    auto read = [size](Value const& map, Context const& at) -> std::optional<std::vector<AxisConfig>> {
        if (!expect_map(map, at)) return std::nullopt;
        std::vector<AxisConfig> axes;
        for (auto const& entry : map.entries) {
            if (entry.key.empty()) {
                at.error(entry.value.place, fmt::format("an axis of {} has no name", at.name()));
                continue;
            }
            if (auto const one = read_scalar(size, entry.value, at.in(entry.key))) axes.push_back({entry.key, *one});
        }
        return axes.size() == map.entries.size() ? std::optional(axes) : std::nullopt;
    };
    auto write = [size](std::vector<AxisConfig> const& axes) {
        auto map = make_map();
        for (auto const& axis : axes) map.entries.push_back({axis.name, {}, size.write(axis.size)});
        return map;
    };
    return {read, write, [size] { return base::Json{{"type", "object"}, {"additionalProperties", size.schema}}; }};
}

Section<ReductionConfig> reduction_section() {
    Section<ReductionConfig> section;
    section
        .field({"axes", "names of the axes that are reduced over", "[data]"}, &ReductionConfig::axes,
               list_of(Codec<std::string>(text())))
        .field({"payload", "bytes that a device holds of the reduced tensor"}, &ReductionConfig::payload, payload())
        .field({"weight", "how often it happens in a training step"}, &ReductionConfig::weight, real({0, 1e9}))
        .field({"request", "what is asked for"}, &ReductionConfig::request, request());
    return section;
}

Section<SystemConfig> system_section() {
    Section<SystemConfig> section;
    section
        .field({"sizes", "of the levels, outermost first", "[2, 16]"}, &SystemConfig::sizes,
               list_of(Codec<std::int32_t>(count())))
        .field({"axes", "of this system", "{data: 32}"}, &SystemConfig::axes, axes_codec());
    return section;
}

std::int64_t product(auto const& list, auto&& size) {
    std::int64_t product = 1;
    for (auto const& one : list) product = std::min<std::int64_t>(product * size(one), std::int64_t{1} << 40);
    return product;
}
std::int64_t product(std::vector<AxisConfig> const& axes) {
    return product(axes, [](AxisConfig const& axis) { return axis.size; });
}

Place place_of(Value const& map, std::string const& key) {
    auto const* entry = map.find(key);
    return entry != nullptr ? entry->value.place : map.place;
}

bool check_levels(std::vector<std::int32_t> const& sizes, Place const& place, Context const& at) {
    auto const split = std::ranges::count_if(sizes, [](std::int32_t size) { return size > 1; });
    if (split <= most_split_levels) return true;
    at.error(place, fmt::format("{} has {} levels of more than one instance, more than {}: join two neighbours",
                                at.name(), split, most_split_levels));
    return false;
}

/// What a device holds of a tensor that a group of so many devices reduces.
bool check_payload(std::uint64_t bytes, std::int64_t group, Place const& place, Context const& at) {
    if (group > most_group) {
        at.error(place, fmt::format("{} is over groups of {} devices, more than {}: its programs could not be checked "
                                    "by sums",
                                    at.name(), group, most_group));
        return false;
    }
    if (bytes >= static_cast<std::uint64_t>(group)) return true;
    at.error(place, fmt::format("{} has a payload of {} for a group of {} devices: every device needs a byte at least",
                                at.name(), base::format_bytes(bytes), group));
    return false;
}

bool check_product(std::int64_t devices, std::vector<AxisConfig> const& axes, Place const& place, Context const& at) {
    if (devices > most_devices) {
        at.error(place, fmt::format("{} has {} devices, more than {}", at.name(), devices, most_devices));
        return false;
    }
    if (product(axes) == devices) return true;
    at.error(place, fmt::format("the axes of {} multiply to {}, the levels to {} devices: they must be equal",
                                at.name(), product(axes), devices));
    return false;
}

bool check_system(PlacementConfig const& config, Value const& map, Context const& at) {
    if (config.hierarchy.empty() || config.hierarchy.size() > most_levels) {
        at.error(place_of(map, "hierarchy"),
                 fmt::format("{} must have 1 to {} levels", at.in("hierarchy").name(), most_levels));
        return false;
    }
    if (!config.sweep.empty()) return true;
    std::vector<std::int32_t> sizes;
    for (auto const& level : config.hierarchy) sizes.push_back(level.size);
    auto const devices = product(sizes, [](std::int32_t size) { return size; });
    if (!check_levels(sizes, place_of(map, "hierarchy"), at.in("hierarchy"))) return false;
    if (!check_product(devices, config.axes, place_of(map, "axes"), at)) return false;
    return !config.reductions.empty() || check_payload(config.payload, devices, place_of(map, "payload"), at);
}

bool check_sweep(PlacementConfig const& config, Value const& map, Context const& at) {
    bool is_good = true;
    auto const* entry = map.find("sweep");
    for (std::size_t i = 0; i < config.sweep.size(); ++i) {
        auto const& system = config.sweep[i];
        auto const place = entry != nullptr ? entry->value.items[i].place : map.place;
        auto const here = at.in("sweep").item(i);
        if (system.sizes.size() != config.hierarchy.size()) {
            here.error(place, fmt::format("{} has {} sizes for {} levels", here.name(), system.sizes.size(),
                                          config.hierarchy.size()));
            is_good = false;
            continue;
        }
        auto const devices = product(system.sizes, [](std::int32_t size) { return size; });
        is_good = check_levels(system.sizes, place, here) && check_product(devices, system.axes, place, here) &&
                  check_payload(config.payload, devices, place, here) && is_good;
    }
    if (!config.sweep.empty() && !config.axes.empty()) {
        at.error(place_of(map, "axes"), "the systems of a sweep have axes of their own: leave these out");
        is_good = false;
    }
    if (!config.sweep.empty() && !config.reductions.empty()) {
        at.error(place_of(map, "reductions"), "reductions name axes, which the systems of a sweep do not share: leave "
                                              "them out, so that every set of axes is reduced over");
        is_good = false;
    }
    return is_good;
}

bool check_reduction(PlacementConfig const& config, ReductionConfig const& reduction, Value const& item,
                     Context const& at) {
    auto const place = place_of(item, "axes");
    std::vector<std::string> names;
    for (auto const& axis : config.axes) names.push_back(axis.name);
    std::int64_t group = 1;
    bool is_good = !reduction.axes.empty();
    if (!is_good) at.error(place, fmt::format("{} names no axis", at.in("axes").name()));
    for (auto const& name : reduction.axes) {
        auto const found = std::ranges::find(config.axes, name, &AxisConfig::name);
        if (found == config.axes.end()) {
            at.error(place, fmt::format("{} names the axis '{}', which is not there{}; there are: {}", at.name(), name,
                                        did_you_mean(name, names), fmt::join(names, ", ")));
            is_good = false;
            continue;
        }
        if (std::ranges::count(reduction.axes, name) > 1) {
            at.error(place, fmt::format("{} names the axis '{}' twice", at.name(), name));
            return false;
        }
        group *= found->size;
    }
    if (is_good && group < 2) {
        at.error(place, fmt::format("{} is over groups of one device, which have nothing to reduce", at.name()));
        return false;
    }
    return is_good && check_payload(reduction.payload, group, place_of(item, "payload"), at);
}

bool check_reductions(PlacementConfig const& config, Value const& map, Context const& at) {
    if (!config.sweep.empty()) return true; // they were refused already
    bool is_good = true;
    auto const* entry = map.find("reductions");
    for (std::size_t i = 0; entry != nullptr && i < config.reductions.size(); ++i)
        is_good = check_reduction(config, config.reductions[i], entry->value.items[i], at.in("reductions").item(i)) &&
                  is_good;
    return is_good;
}

bool check_segments(PlacementConfig const& config, Value const& map, Context const& at) {
    if (!config.segments.empty()) return true;
    at.error(place_of(map, "segments"),
             fmt::format("{} is empty: use [1] for no pipelining", at.in("segments").name()));
    return false;
}

/// Steps of programs name levels, and `root` is the whole group.
bool check_names(PlacementConfig const& config, Value const& map, Context const& at) {
    bool is_good = true;
    auto const* entry = map.find("hierarchy");
    for (std::size_t i = 0; entry != nullptr && i < config.hierarchy.size(); ++i) {
        auto const& name = config.hierarchy[i].name;
        auto const here = at.in("hierarchy").item(i).in("name");
        auto const place = place_of(entry->value.items[i], "name");
        bool const is_again = std::ranges::find(config.hierarchy, name, &LevelConfig::name) !=
                              config.hierarchy.begin() + static_cast<std::ptrdiff_t>(i);
        if (name != "root" && !is_again) continue;
        here.error(place, name == "root"
                              ? fmt::format("{} is 'root', the name of the whole group: choose another", here.name())
                              : fmt::format("{} is '{}', as another level's: choose another", here.name(), name));
        is_good = false;
    }
    return is_good;
}

Section<PlacementConfig> placement_section() {
    using Placement = PlacementConfig;
    Section<Placement> section;
    section
        .field({"hierarchy", "the machine, outermost level first",
                "[{name: node, size: 4, bandwidth: 8GB/s, latency: 10us}, {name: gpu, size: 16}]"},
               &Placement::hierarchy, list_of(level_section().codec()))
        .field({"axes", "of parallelism with their sizes, e.g. {data: 16, shards: 4}; not with `sweep`"},
               &Placement::axes, axes_codec())
        .field({"reductions", "what is reduced; none: over every set of axes"}, &Placement::reductions,
               list_of(reduction_section().codec()))
        .field({"payload", "of reductions that are not listed"}, &Placement::payload, payload())
        .field({"max_steps", "longest program"}, &Placement::max_steps, integer<std::int32_t>({1, 8}))
        .field({"broadcast", "what its premise asks of the receivers: contained in the sender (one strictly), all "
                             "strictly contained, or empty"},
               &Placement::broadcast, broadcast())
        .field({"segments", "numbers of segments that are tried for pipelining; [1]: none"}, &Placement::segments,
               list_of(Codec<std::int32_t>(integer<std::int32_t>({1, 1024}))))
        .field({"sweep", "systems with other sizes and axes, instead of one"}, &Placement::sweep,
               list_of(system_section().codec()))
        .check(check_names)
        .check(check_segments)
        .check(check_system)
        .check(check_sweep)
        .check(check_reductions);
    return section;
}

} // namespace

ProblemSectionOf<PlacementConfig> const& problem_section() {
    using enum SharedKey;
    static ProblemSectionOf<PlacementConfig> const section(
        {.name = "placement",
         .example = "{kind: placement, hierarchy: [{name: node, size: 2}, {name: gpu, size: 4}], axes: {data: 8}}",
         .file = "config/placement/dgx-4x16.yaml",
         .reads = {max_results, verify_batch, best_only}},
        placement_section());
    return section;
}

} // namespace espalier::problems::placement
