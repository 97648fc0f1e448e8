#include "proof_sign.hpp"

#include <algorithm>

namespace espalier::verify::proof {
namespace {

using program::Access;
using program::Op;
using program::OpCode;

Sign sign_of_operand(Frame const& frame, Op const& op, std::size_t i) { return sign_of(frame, op.inputs[i]); }

/// Of what divides, which is not 0 where the quotient is defined.
Sign divisor(Sign sign) { return sign == Sign::any ? sign : Sign::positive; }

std::vector<Sign> signs_of_operands(Frame const& frame, Op const& op) {
    std::vector<Sign> out;
    for (auto const id : op.inputs) out.push_back(sign_of(frame, id));
    return out;
}

Sign sign_of_constants(program::Attributes const& attributes) {
    using program::AttributeName;
    return program::sign_of(attributes.get(AttributeName::by, 1) / attributes.get(AttributeName::over, 1));
}
bool has_eps(Op const& op) { return op.attributes.get(program::AttributeName::eps, 0) > 0; }

Sign pointwise(Frame const& frame, Op const& op) {
    using field::Scalar;
    auto const signs = signs_of_operands(frame, op);
    switch (program::info(op.code).field.scalar) {
    case Scalar::add:
        return total(signs[0], signs[1]);
    case Scalar::sub:
        return Sign::any;
    case Scalar::mul:
        return op.inputs[0] == op.inputs[1] ? square(signs[0]) : product(signs[0], signs[1]);
    case Scalar::square:
        return square(signs[0]);
    case Scalar::div:
        return op.inputs[0] == op.inputs[1] ? Sign::positive : product(signs[0], divisor(signs[1]));
    case Scalar::exp:
    case Scalar::exp_sub:
        return Sign::positive;
    case Scalar::sqrt:
        return square(signs[0]);
    case Scalar::function:
        return program::info(op.code).sign(signs, op.attributes);
    case Scalar::inverse:
        return divisor(signs[0]);
    case Scalar::scale:
        return product(signs[0], sign_of_constants(op.attributes));
    case Scalar::shift:
        return total(signs[0], program::sign_of(op.attributes.get(program::AttributeName::by, 0)));
    case Scalar::larger:
        return std::max(signs[0], signs[1]);
    case Scalar::smaller:
        return std::min(signs[0], signs[1]);
    }
    return Sign::any;
}

Sign contraction(Frame const& frame, Op const& op) {
    auto const signs = signs_of_operands(frame, op);
    auto const terms = static_cast<std::size_t>(program::info(op.code).field.terms);
    auto out = product(signs[0], signs[terms]);
    for (std::size_t t = 1; t < terms; ++t) out = total(out, product(signs[t], signs[t + terms]));
    return out;
}

Sign of_body(Frame const& frame, program::TensorInfo const& tensor) {
    auto const& op = frame.typed.graph.ops[tensor.maker];
    auto const& body = frame.typed.bodies[static_cast<std::size_t>(op.body)];
    return sign_of({.typed = body, .outer = &frame, .op = &op},
                   body.graph.outputs[static_cast<std::size_t>(tensor.output)]);
}

/// Whether an op is defined for all values that its operands have.
bool is_total(Frame const& frame, Op const& op) {
    auto const& rule = program::info(op.code).field;
    if (rule.access == Access::normalise)
        return has_eps(op) || rule.norm == program::Norm::center ||
               (rule.norm == program::Norm::rms && sign_of_operand(frame, op, 0) == Sign::positive);
    if (rule.access != Access::pointwise) return true;
    if (rule.scalar == field::Scalar::div) return sign_of_operand(frame, op, 1) == Sign::positive;
    if (rule.scalar == field::Scalar::inverse) return sign_of_operand(frame, op, 0) == Sign::positive;
    if (rule.scalar == field::Scalar::sqrt) return sign_of_operand(frame, op, 0) != Sign::any;
    return has_domain(frame, op);
}

bool is_total(Frame const& frame) {
    return std::ranges::all_of(frame.typed.graph.ops, [&](Op const& op) {
        if (op.code != OpCode::graph) return is_total(frame, op);
        return is_total(
            Frame{.typed = frame.typed.bodies[static_cast<std::size_t>(op.body)], .outer = &frame, .op = &op});
    });
}

} // namespace

bool has_domain(Frame const& frame, Op const& op) {
    return program::info(op.code).domain == program::Domain::everywhere ||
           sign_of_operand(frame, op, 0) == Sign::positive;
}

Sign sign_of(Frame const& frame, program::TensorId tensor) {
    auto const& info = frame.typed.tensors[tensor];
    if (info.maker == program::no_op)
        return frame.outer ? sign_of(*frame.outer, frame.op->inputs[static_cast<std::size_t>(tensor.value)])
                           : Sign::any;
    auto const& op = frame.typed.graph.ops[info.maker];
    auto const& rule = program::info(op.code).field;
    switch (rule.access) {
    case Access::pointwise:
        return pointwise(frame, op);
    case Access::contraction:
        return contraction(frame, op);
    case Access::rearrange:
        return std::ranges::min(signs_of_operands(frame, op));
    case Access::reduction:
    case Access::accumulate:
        if (rule.reduction.root_mean && has_eps(op)) return Sign::positive;
        return rule.reduction.of_squares ? square(sign_of_operand(frame, op, 0)) : sign_of_operand(frame, op, 0);
    case Access::normalise:
        return rule.norm == program::Norm::rms ? sign_of_operand(frame, op, 0) : Sign::any;
    case Access::graph:
        return of_body(frame, info);
    }
    return Sign::any;
}

bool is_total(TypedGraph const& typed) { return is_total(Frame{.typed = typed}); }

} // namespace espalier::verify::proof
