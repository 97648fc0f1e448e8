#pragma once

#include "espalier/analysis/table.hpp"

namespace espalier::analysis {

/// Two runs side by side. Speed is nodes per second, so that runs need not be equally long.
struct Comparison {
    double speed = 0;     ///< B's nodes per second over A's
    double cpu_speed = 0; ///< B's nodes per useful CPU second over A's: steadier on a shared machine
    Table table;          ///< metric, A, B, B / A
    std::vector<std::string> remarks;
};
/// Throws InputError if one of them did nothing.
[[nodiscard]] Comparison compare(TraceSource const& source_a, Analysis const& a, TraceSource const& source_b,
                                 Analysis const& b);

} // namespace espalier::analysis
