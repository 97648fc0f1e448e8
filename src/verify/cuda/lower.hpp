#pragma once

#include "espalier/verify/tape.hpp"

#include "lowered.hpp"

#include <vector>

namespace espalier::verify::cuda {

/// A tape for a device.
struct Lowered {
    std::vector<LoweredStep> steps;
    std::int64_t size = 0; ///< values, with those between the parts of a step
};
[[nodiscard]] Lowered lower(Tape const& tape);

} // namespace espalier::verify::cuda
