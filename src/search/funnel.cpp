#include "espalier/search/funnel.hpp"

#include "espalier/base/units.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace espalier::search {

std::string to_text(Funnel const& funnel) {
    auto const name = [](FunnelRow const& row) { return (row.is_kept ? "" : "- ") + row.name; };
    std::size_t width = 13;
    for (auto const& row : funnel) width = std::max(width, name(row).size());
    std::string out;
    for (auto const& row : funnel)
        out += fmt::format("  {:<{}} {:>15}  {}\n", name(row), width, base::grouped(row.count), row.note);
    return out;
}

} // namespace espalier::search
