#include "pictures.hpp"

#include "espalier/base/units.hpp"
#include "espalier/placement/state.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace espalier::problems::placement {
namespace {

namespace domain = espalier::placement;

constexpr std::size_t shown_groups = 8, shown_devices = 64;

/// `0-15` or `0, 16, 32, 48`.
std::string list_text(std::vector<int> const& list) {
    bool is_run = list.size() > 2;
    for (std::size_t i = 1; i < list.size(); ++i) is_run = is_run && list[i] == list[i - 1] + 1;
    if (is_run) return fmt::format("{}-{}", list.front(), list.back());
    if (list.size() <= 16) return fmt::format("{}", fmt::join(list, ", "));
    return fmt::format("{}, {}, ... {} ({} devices)", list[0], list[1], list.back(), list.size());
}

/// Chunks that each device of the first reduction group holds after so many steps, on the real sizes.
class Holdings {
public:
    explicit Holdings(Pair const& pair)
        : sizes_(pair.sizes), count_(pair.groups.front().size()), held_(count_, std::vector<bool>(count_, true)) {
        if (pair.request != domain::Request::all_gather) return;
        for (std::size_t device = 0; device < count_; ++device)
            for (std::size_t chunk = 0; chunk < count_; ++chunk) held_[device][chunk] = device == chunk;
    }
    void apply(domain::Step const& step) {
        for (auto const& group : domain::groups(step.grouping, sizes_)) {
            std::vector<bool> all(count_, false);
            for (auto const device : group)
                for (std::size_t chunk = 0; chunk < count_; ++chunk)
                    if (held_[at(device)][chunk] &&
                        (step.collective != domain::Collective::broadcast || device == group[0]))
                        all[chunk] = true;
            auto const total = static_cast<std::size_t>(std::ranges::count(all, true));
            for (std::size_t i = 0; i < group.size(); ++i) take(step.collective, group, i, all, total);
        }
    }
    [[nodiscard]] std::vector<int> chunks(std::size_t device) const {
        std::vector<int> list;
        for (std::size_t chunk = 0; chunk < count_; ++chunk)
            if (held_[device][chunk]) list.push_back(static_cast<int>(chunk));
        return list;
    }
    [[nodiscard]] std::size_t count() const { return count_; }

private:
    static std::size_t at(int device) { return static_cast<std::size_t>(device); }
    void take(domain::Collective collective, std::vector<int> const& group, std::size_t i, std::vector<bool> const& all,
              std::size_t total) {
        std::size_t number = 0;
        for (std::size_t chunk = 0; chunk < count_; ++chunk) {
            bool keeps = all[chunk];
            if (keeps && collective == domain::Collective::reduce_scatter) keeps = number * group.size() / total == i;
            if (collective == domain::Collective::reduce && i > 0) keeps = false;
            if (all[chunk]) ++number;
            held_[at(group[i])][chunk] = keeps;
        }
    }

    std::vector<int> sizes_;
    std::size_t count_;
    std::vector<std::vector<bool>> held_; ///< device, chunk
};

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

/// Colours that differ for neighbours.
std::string colour(std::size_t group) { return fmt::format("hsl({}, 65%, 55%)", group * 137 % 360); }

/// Gaps between instances of outer levels make the hierarchy visible.
std::vector<double> places(domain::Hierarchy const& hierarchy, std::size_t count) {
    std::vector<double> at;
    double x = 0;
    for (std::size_t device = 0; device < count; ++device) {
        auto block = 1;
        for (auto level = hierarchy.size(); level-- > 1;) {
            block *= hierarchy[level].size;
            if (device > 0 && static_cast<int>(device) % block == 0) x += 8;
        }
        at.push_back(x);
        x += 16;
    }
    return at;
}

} // namespace

std::string explain(Pair const& pair, Result const& result) {
    auto const lowered = domain::lower(result.program, pair.sizes, pair.groups);
    auto const costs =
        domain::step_costs(lowered, pair.hierarchy, static_cast<double>(pair.payload), pair.start_share());
    Holdings holdings(pair);
    auto text =
        fmt::format("placement {} (a row an axis, a column a level), reduction {}, {} a device\n"
                    "{} groups of {} devices, {} chunks each; the first group is {}\n",
                    pair.matrix_text(), pair.reduction_text(), base::format_bytes(pair.payload), pair.groups.size(),
                    pair.groups.front().size(), pair.groups.front().size(), list_text(pair.groups.front()));
    for (std::size_t i = 0; i < result.program.size(); ++i) {
        auto const& step = result.program[i];
        holdings.apply(step);
        text += fmt::format("\n{}. {}: {:.2f} us as a {}, {} groups of {}\n", i + 1, domain::text({step}, pair.names),
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
    return text + fmt::format("\nin all {:.2f} us{}; one collective over the whole group takes {:.2f} us\n",
                              result.predicted_us,
                              result.segments > 1 ? fmt::format(" in {} overlapping segments", result.segments) : "",
                              1e6 * pair.baseline_seconds());
}

std::string svg(Pair const& pair, Result const& result) {
    auto const lowered = domain::lower(result.program, pair.sizes, pair.groups);
    auto const costs =
        domain::step_costs(lowered, pair.hierarchy, static_cast<double>(pair.payload), pair.start_share());
    auto const all = static_cast<std::size_t>(domain::devices(pair.hierarchy));
    auto const count = std::min(all, shown_devices);
    auto const at = places(pair.hierarchy, count);
    auto const width = std::max(520.0, at.back() + 60);
    auto const height = 40 + 64 * static_cast<double>(lowered.size());
    auto text = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" width=\"{:.0f}\" "
                            "height=\"{:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
                            "<title>{}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
                            "<text x=\"20\" y=\"22\" font-weight=\"bold\">{} {}: {:.2f} us{}</text>\n",
                            width, height, width, height, domain::text(result.program, pair.names), pair.matrix_text(),
                            pair.reduction_text(), result.predicted_us,
                            all > count ? fmt::format(" (first {} of {} devices)", count, all) : std::string());
    for (std::size_t i = 0; i < lowered.size(); ++i) {
        auto const y = 40 + 64 * static_cast<double>(i);
        text += fmt::format("<text x=\"20\" y=\"{:.0f}\">{}. {}  {:.2f} us</text>\n", y + 14, i + 1,
                            domain::text({result.program[i]}, pair.names), 1e6 * costs[i].seconds);
        std::vector<std::string> colours(count, "#ddd");
        for (std::size_t g = 0; g < lowered[i].groups.size(); ++g)
            for (auto const device : lowered[i].groups[g])
                if (static_cast<std::size_t>(device) < count) colours[static_cast<std::size_t>(device)] = colour(g);
        for (std::size_t device = 0; device < count; ++device)
            text += fmt::format("<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"13\" height=\"22\" rx=\"2\" fill=\"{}\" "
                                "stroke=\"#555\"><title>device {}</title></rect>\n",
                                20 + at[device], y + 22, colours[device], device);
    }
    return text + "</svg>\n";
}

} // namespace espalier::problems::placement
