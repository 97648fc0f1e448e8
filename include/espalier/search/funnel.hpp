#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace espalier::search {

/// One row of the funnel: what remains, or what is dropped and why.
struct FunnelRow {
    std::string name;
    std::uint64_t count = 0;
    bool is_kept = true;
    std::string note;

    bool operator==(FunnelRow const&) const = default;
};
using Funnel = std::vector<FunnelRow>;

/// For people: `  - name       1,234  note`, one row per line.
[[nodiscard]] std::string to_text(Funnel const& funnel);

} // namespace espalier::search
