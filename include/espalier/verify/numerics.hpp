#pragma once

#include "espalier/program/graph.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace espalier::verify {

/// The inputs of the estimate, in words.
inline constexpr std::string_view numerics_inputs = "N(0, 1)";

struct NumericsOptions {
    std::uint64_t seed = 1;
    std::int64_t max_elements = 16; ///< of an output, 0 for all; fewer if that is too much work
    double max_work = 2e6;          ///< about how many values are computed: programs that need more are not estimated
};

/// How a program of fewer than 64 bits computes, estimated on some elements of its outputs at their real shape.
struct Numerics {
    program::DType dtype = program::DType::f16;
    double rel_error = 0; ///< the largest |found - exact| / (|exact| + root mean square of the output); may be infinite
    double largest_magnitude = 0; ///< of the results of ops on the way, in float64
    bool overflows = false;       ///< something is not finite that is finite in float64
    std::int64_t samples = 0;     ///< elements that were compared
    double work = 0;              ///< what it took, in the unit of max_work
};

/// Runs the program once in float64 and once as a machine would, on the same inputs: independent, standard normal, the
/// same for every program, rounded to the dtype. The machine stores the results of ops in the dtype (at all levels:
/// device memory, shared memory, registers), rounded to nearest even. Within an op it computes in f32, every operation
/// and every step of a sum rounded, as tensor cores and vector units do about; functions such as exp are rounded
/// correctly. Sums go from the first to the last; accumulators go through the loop step by step, adding what each step
/// sums to.
///
/// Nothing for f64, which is what it compares with, if it is too much work, or if nothing finite was found. Throws
/// InputError if the graph is not legal.
[[nodiscard]] std::optional<Numerics> estimate_numerics(program::Graph const& graph,
                                                        NumericsOptions const& options = {});

} // namespace espalier::verify
