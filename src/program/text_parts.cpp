#include "text_parts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace espalier::program::text {
namespace {

std::string value_text(std::vector<double> const& values) {
    if (values.size() == 1) return fmt::format("{}", values[0]);
    return fmt::format("[{}]", fmt::join(values, ", "));
}
std::string settings_text(std::vector<std::string> const& settings) {
    return settings.empty() ? "" : fmt::format(" ({})", fmt::join(settings, ", "));
}
void add_grid(std::vector<std::string>& out, std::array<int, 3> const& dims) {
    for (std::size_t a = 0; a < 3; ++a)
        if (dims[a] >= 0) out.push_back(fmt::format("grid {}: {}", "xyz"[a], dims[a]));
}
std::string grid_text(Schedule const& schedule) {
    auto const& [x, y, z] = schedule.grid;
    if (z != 1) return fmt::format("[{}, {}, {}]", x, y, z);
    return y != 1 ? fmt::format("[{}, {}]", x, y) : fmt::format("[{}]", x);
}

} // namespace

std::string attributes_text(Attributes const& attributes) {
    std::vector<std::string> out;
    for (auto const& item : attributes.items())
        out.push_back(fmt::format("{}: {}", name(item.name), value_text(item.values)));
    return settings_text(out);
}

std::string partition_text(Partition const& partition) {
    std::vector<std::string> out;
    add_grid(out, partition.grid);
    if (partition.loop >= 0) out.push_back(fmt::format("loop: {}", partition.loop));
    for (std::size_t d = 0; d < partition.last.size(); ++d)
        if (partition.last[d] != 0) out.push_back(fmt::format("last: [{}, {}]", d, partition.last[d]));
    return settings_text(out);
}

std::string join_text(Schedule const& schedule) {
    std::vector<std::string> out;
    add_grid(out, schedule.output);
    return settings_text(out);
}

std::string schedule_text(Schedule const& schedule) {
    auto const loop = schedule.loop == 1 ? "" : fmt::format(" loop {}", schedule.loop);
    return fmt::format("grid {}{} threads {}", grid_text(schedule), loop, schedule.threads);
}

} // namespace espalier::program::text
