#pragma once

#include "espalier/field/scalar.hpp"
#include "espalier/program/graph.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace espalier::verify {

/// A batch of tiles of one shape as values of the field: row-major tiles, one after the other.
struct Tiles {
    program::Shape shape;   ///< of one tile
    std::int64_t batch = 1; ///< grid blocks x loop steps, the step fastest; after an accumulator only blocks
    bool has_q = false;     ///< whether the part modulo q is there; it is lost by exp
    std::vector<std::uint32_t> p;
    std::vector<std::uint32_t> q; ///< empty without has_q

    bool operator==(Tiles const&) const = default;
};

enum class OpStatus : std::uint8_t {
    done,
    zero_divisor, ///< the draw must be repeated with another seed
    no_exponent,  ///< exp of a value that has no part modulo q (an exponential of an exponential): cannot be evaluated
};

/// One op (not a graph) on whole batches.
struct OpCall {
    program::OpInfo const& row;
    program::Attributes const& attributes; ///< `size` among them
    field::Model const& model;
    std::span<Tiles const* const> operands; ///< of one batch size, a multiple of `loop`, and shapes that fit the row
    std::int64_t loop = 1;
    int output = 0;         ///< which output of the op is asked for
    std::int64_t count = 0; ///< of the values in a mean; 0: all of them

    [[nodiscard]] Tiles const& operand(std::size_t i) const { return *operands[i]; }
};
/// An accumulator's output has batch / loop tiles. What has no way of its own is computed by the row's meaning.
[[nodiscard]] OpStatus evaluate_op(OpCall const& call, Tiles& out);

} // namespace espalier::verify
