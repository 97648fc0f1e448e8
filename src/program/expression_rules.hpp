#pragma once

#include "espalier/program/op.hpp"

/// Which abstract expression each op gives.
namespace espalier::program::rules {

using Arguments = std::span<ExprId const>;
using Words = RuleInput<Word>;

inline Word axis_size(Words const& in) { return in.shapes[0][*axis_of(in.attributes, in.shapes[0])]; }
/// How many values a reduction sums.
inline Word summed(Words const& in) { return axis_size(in); }
inline Word summed_to(Words const& in) { return axis_size(in) / in.size; }

inline ExprId matmul_expr(ExpressionBuilder& e, Arguments a, Words const& in) {
    return e.sum(in.shapes[0].back(), e.mul(a[0], a[1]));
}
inline ExprId concat_matmul_expr(ExpressionBuilder& e, Arguments a, Words const& in) {
    return e.add(e.sum(in.shapes[0].back(), e.mul(a[0], a[2])), e.sum(in.shapes[1].back(), e.mul(a[1], a[3])));
}
inline ExprId square_expr(ExpressionBuilder& e, Arguments a, Words const&) { return e.mul(a[0], a[0]); }
inline ExprId add_expr(ExpressionBuilder& e, Arguments a, Words const&) { return e.add(a[0], a[1]); }
inline ExprId mul_expr(ExpressionBuilder& e, Arguments a, Words const&) { return e.mul(a[0], a[1]); }
inline ExprId div_expr(ExpressionBuilder& e, Arguments a, Words const&) { return e.div(a[0], a[1]); }
inline ExprId sub_expr(ExpressionBuilder& e, Arguments a, Words const&) {
    return e.add(a[0], e.mul(e.leaf(constant_minus_one), a[1]));
}
template <OpCode F>
ExprId call_expr(ExpressionBuilder& e, Arguments a, Words const&) {
    return e.call(F, {}, a);
}
inline ExprId sum_expr(ExpressionBuilder& e, Arguments a, Words const& in) { return e.sum(summed(in), a[0]); }
inline ExprId sum_to_expr(ExpressionBuilder& e, Arguments a, Words const& in) { return e.sum(summed_to(in), a[0]); }
inline ExprId rms_expr(ExpressionBuilder& e, Arguments a, Words const& in) {
    return e.call(OpCode::rms, summed(in), a);
}
inline ExprId rms_norm_expr(ExpressionBuilder& e, Arguments a, Words const& in) {
    return e.div(a[0], rms_expr(e, a, in));
}
/// x - mean(x), with -1/n as a constant of its own.
inline ExprId layer_norm_expr(ExpressionBuilder& e, Arguments a, Words const& in) {
    auto const minus_mean = e.mul(e.leaf(constant_minus_one + 1), e.sum(summed(in), a[0]));
    return e.div(e.add(a[0], minus_mean), e.call(OpCode::layer_norm, summed(in), a));
}
inline ExprId accumulate_expr(ExpressionBuilder& e, Arguments a, Words const& in) { return e.sum(in.loop_range, a[0]); }
inline ExprId accumulate_sum_expr(ExpressionBuilder& e, Arguments a, Words const& in) {
    return e.sum(in.loop_range * summed(in), a[0]);
}
inline ExprId accumulate_sum_to_expr(ExpressionBuilder& e, Arguments a, Words const& in) {
    return e.sum(in.loop_range * summed_to(in), a[0]);
}
inline ExprId accumulate_rms_expr(ExpressionBuilder& e, Arguments a, Words const& in) {
    return e.call(OpCode::rms, in.loop_range * summed(in), a);
}

} // namespace espalier::program::rules
