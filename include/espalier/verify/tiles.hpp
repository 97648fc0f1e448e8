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

/// One op (not a graph) on whole batches. Operands have one batch size, a multiple of `loop`; an accumulator's output
/// has batch / loop. Shapes must fit (see the op's shape rule); attribute `size` is taken from the attributes.
[[nodiscard]] OpStatus evaluate_op(program::OpCode code, program::Attributes const& attributes,
                                   field::Model const& model, std::span<Tiles const* const> operands, std::int64_t loop,
                                   Tiles& out);

} // namespace espalier::verify
