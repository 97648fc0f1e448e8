#pragma once

#include "espalier/problems/placement/placement_config.hpp"
#include "espalier/reduction/lowered.hpp"

namespace espalier::problems::placement {

/// One placement of the axes and one reduction over some of them: what programs are synthesized for.
struct Pair {
    int system = 0;    ///< of a sweep
    int placement = 0; ///< its number among those of the system
    int reduction = 0; ///< its number among those of the system
    reduction::Hierarchy hierarchy;
    reduction::Matrix matrix;
    std::vector<AxisConfig> axes;
    std::vector<int> reduced; ///< axes
    reduction::Request request{};
    std::uint64_t payload = 0;
    double weight = 1;
    bool is_one_of_many = false;          ///< reductions are listed, and more than one
    std::vector<int> sizes;               ///< factors of the reduction, outermost first
    std::vector<std::string> names;       ///< of their levels
    std::vector<std::vector<int>> groups; ///< reduction groups

    [[nodiscard]] int levels() const { return static_cast<int>(sizes.size()); }
    /// Of the payload that a device holds at the beginning.
    [[nodiscard]] double start_share() const;
    /// `[[1, 16], [4, 1]]`: a row per axis, a column per level.
    [[nodiscard]] std::string matrix_text() const;
    /// `data` or `reduce_scatter data, model`, with the payload if there are several reductions.
    [[nodiscard]] std::string reduction_text() const;
    /// Predicted time, with the best of the numbers of segments. Whole picoseconds, so that programs that take the same
    /// time cost the same, in whatever order their steps were added.
    struct Predicted {
        double us = 0;
        int segments = 1;
    };
    [[nodiscard]] Predicted predict(reduction::Lowered const& program, std::vector<std::int32_t> const& segments) const;
    /// On the devices of this pair.
    [[nodiscard]] reduction::Lowered lower(reduction::Program const& program) const {
        return reduction::lower(program, sizes, groups);
    }
    /// Of one collective over the whole group, not pipelined.
    [[nodiscard]] double baseline_us() const;
    /// Whether the chunks of a ReduceScatter end in the order of the devices, or of another request: always. Else
    /// every device has one whole chunk, but not all have that of their own number.
    [[nodiscard]] bool ends_in_order(reduction::Program const& program) const;
};

/// All that differ and have something to reduce, in a fixed order.
[[nodiscard]] std::vector<Pair> pairs_of(PlacementConfig const& config);
/// Placements of all systems, also those in which nothing is left to reduce.
[[nodiscard]] std::size_t placements_of(PlacementConfig const& config);

} // namespace espalier::problems::placement
