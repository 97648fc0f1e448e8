#pragma once

#include "espalier/cost/roofline.hpp"

namespace espalier::cost {

/// What a block takes of its multiprocessor.
struct BlockNeeds {
    std::int64_t threads = 1;
    std::int64_t shared_bytes = 0;
    double registers = 0; ///< of a thread
};

/// How many blocks a multiprocessor holds at a time; 0 if it cannot hold one.
struct Residency {
    std::int64_t blocks = 0;
    Limit limit = Limit::blocks;
};
[[nodiscard]] Residency residency_of(BlockNeeds const& needs, config::HardwareConfig const& hardware);

/// Of a thread whose block holds the largest product in registers.
[[nodiscard]] double registers_wanted(std::int64_t product_elements, std::int64_t threads, program::DType dtype);
/// The most that a thread of a block can have.
[[nodiscard]] double registers_given(std::int64_t threads, config::HardwareConfig const& hardware);

} // namespace espalier::cost
