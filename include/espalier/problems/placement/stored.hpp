#pragma once

#include "espalier/problems/placement/placement_config.hpp"
#include "espalier/reduction/lowered.hpp"
#include "espalier/search/types.hpp"

namespace espalier::problems::placement {

/// A stored result, read back and lowered to devices.
struct StoredProgram {
    std::size_t id = 0; ///< 1 is the quickest
    std::string placement;
    std::string reduction;
    std::string program;
    reduction::Lowered lowered;
    std::vector<std::vector<int>> groups; ///< reduction groups
    reduction::Hierarchy hierarchy;
    int segments = 1;
    Request request = Request::all_reduce;
    std::uint64_t payload = 0;
    double predicted_us = 0;
    double baseline_us = 0; ///< of one collective over the whole group
};

/// The best `top` of a run (0: all); of each reduction if several are listed. Throws InputError if a record is damaged.
[[nodiscard]] std::vector<StoredProgram>
stored_programs(PlacementConfig const& config, std::vector<search::ResultRecord> const& results, std::size_t top);

} // namespace espalier::problems::placement
