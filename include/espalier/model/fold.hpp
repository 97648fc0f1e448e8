#pragma once

#include "espalier/base/stop.hpp"
#include "espalier/model/model.hpp"

#include <cstdint>

namespace espalier::model {

/// How much folding may do.
struct FoldLimits {
    /// By how much the constants of the model may grow in all. A file of a few kB may describe weights of any size.
    std::uint64_t growth_bytes = std::uint64_t{16} << 20;
    double flops = 1e9; ///< of one node
};

/// Nodes that are understood and see nothing but constants are replaced by what they make, in float64, rounded to its
/// element after every node. Only real and whole numbers and booleans; nodes that make an output of the model stay.
/// A model in which there is nothing to fold comes back as it is. Throws Stopped.
[[nodiscard]] Model fold(Model const& model, FoldLimits const& limits = {}, base::StopToken const& stop = {});

} // namespace espalier::model
