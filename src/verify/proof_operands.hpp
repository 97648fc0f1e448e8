#pragma once

#include "proof_element.hpp"

#include "espalier/program/decimal.hpp"

#include <cstdlib>

/// Operands of ops and their constants, for those who write elements.
namespace espalier::verify::proof {

using program::Access;
using program::AttributeName;
using program::Op;
using program::Shape;
using program::TensorId;
using program::TensorInfo;

inline TensorInfo const& info_of(Frame const& frame, TensorId tensor) { return frame.typed.tensors[tensor]; }
inline Shape const& shape_of_operand(Frame const& frame, Op const& op, std::size_t i = 0) {
    return info_of(frame, op.inputs[i]).shape;
}

/// Right-aligned; dimensions of size 1 have only index 0.
inline Index broadcast_index(Index const& index, Shape const& shape) {
    Index out(index.end() - shape.rank(), index.end());
    for (int dim = 0; dim < shape.rank(); ++dim)
        if (shape[dim] == 1) out[static_cast<std::size_t>(dim)].clear();
    return out;
}

/// The axis of an op whose shapes inference accepted.
inline int axis_of_operand(Frame const& frame, Op const& op) {
    return program::axis_of(op.attributes, shape_of_operand(frame, op)).value();
}

/// A constant is the decimal as written.
inline Fraction fraction_of(double number) {
    auto const [digits, exponent] = program::decimal_of(number);
    constexpr int largest = 36; // powers of ten within 128 bits
    if (std::abs(exponent) > largest) throw Unprovable{"a constant is too large or too small"};
    Wide power = 1;
    for (int i = 0; i < std::abs(exponent); ++i) power *= 10;
    return Fraction{digits, 1} * (exponent < 0 ? Fraction{1, power} : Fraction{power, 1});
}
inline Fraction factor_of(Op const& op) {
    auto const by = fraction_of(op.attributes.get(AttributeName::by, 1));
    return by * inverse(fraction_of(op.attributes.get(AttributeName::over, 1)));
}
inline double eps_of(Op const& op) { return op.attributes.get(AttributeName::eps, 0); }

inline Sum extremum(program::Fold fold, Sum options) {
    Atom atom;
    atom.kind = Atom::Kind::extremum;
    atom.id = static_cast<int>(fold == program::Fold::largest ? program::OpCode::max : program::OpCode::min);
    atom.arguments.push_back(std::move(options));
    return to_sum(std::move(atom));
}

} // namespace espalier::verify::proof
