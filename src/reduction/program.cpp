#include "espalier/reduction/program.hpp"

#include <fmt/core.h>

#include <map>

namespace espalier::reduction {
namespace {

std::vector<int> digits(int device, std::vector<int> const& sizes) {
    std::vector<int> out(sizes.size());
    for (auto i = sizes.size(); i-- > 0;) {
        out[i] = device % sizes[i];
        device /= sizes[i];
    }
    return out;
}

/// The slices of a level are its instances; above the first level is the whole group.
std::string instance(std::size_t level, std::vector<std::string> const& names) {
    return level == 0 ? "root" : names[level - 1];
}

} // namespace

std::vector<Grouping> groupings(int levels) {
    std::vector<Grouping> list;
    for (int from = 0; from < levels; ++from)
        for (int to = levels; to > from; --to) {
            Grouping grouping{static_cast<std::uint8_t>(from), static_cast<std::uint8_t>(to), false};
            list.push_back(grouping);
            grouping.is_master = true;
            if (to < levels) list.push_back(grouping);
        }
    return list;
}

Program single_step(Request request, int levels) {
    return {{{0, static_cast<std::uint8_t>(levels), false}, info(request).collective}};
}

std::vector<std::vector<int>> groups(Grouping const& grouping, std::vector<int> const& sizes) {
    int count = 1;
    for (auto const size : sizes) count *= size;
    std::map<std::vector<int>, std::vector<int>> found;
    for (int device = 0; device < count; ++device) {
        auto fixed = digits(device, sizes);
        bool is_first = true;
        for (std::size_t i = grouping.to; i < sizes.size(); ++i) is_first = is_first && fixed[i] == 0;
        if (grouping.is_master && !is_first) continue;
        for (std::size_t i = grouping.from; i < grouping.to; ++i) fixed[i] = 0;
        found[fixed].push_back(device);
    }
    std::vector<std::vector<int>> list;
    for (auto& [_, members] : found)
        if (members.size() > 1) list.push_back(std::move(members));
    return list;
}

std::string slice_text(Grouping const& grouping, std::vector<std::string> const& names) {
    return instance(grouping.to < names.size() ? grouping.to : grouping.from, names);
}

std::string form_text(Grouping const& grouping, std::vector<std::string> const& names) {
    if (grouping.to == names.size()) return "InsideGroup";
    return fmt::format("{}({})", grouping.is_master ? "Master" : "Parallel", instance(grouping.from, names));
}

std::string text(Program const& program, std::vector<std::string> const& names) {
    std::string out;
    for (auto const& step : program)
        out += fmt::format("{}({}, {}, {})", out.empty() ? "" : " ; ", slice_text(step.grouping, names),
                           form_text(step.grouping, names), name(step.collective));
    return out;
}

} // namespace espalier::reduction
