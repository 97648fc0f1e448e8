#pragma once

#include "espalier/program/op.hpp"

#include <algorithm>
#include <array>

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
inline ExprId exp_sub_expr(ExpressionBuilder& e, Arguments a, Words const& in) {
    std::array const difference{sub_expr(e, a, in)};
    return e.call(OpCode::exp, {}, difference);
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
inline ExprId center_expr(ExpressionBuilder& e, Arguments a, Words const& in) {
    return e.add(a[0], e.mul(e.leaf(constant_minus_one + 1), e.sum(summed(in), a[0])));
}
inline ExprId layer_norm_expr(ExpressionBuilder& e, Arguments a, Words const& in) {
    std::array const centred{center_expr(e, a, in)};
    return rms_norm_expr(e, centred, in);
}
/// -1 is the constant of subtracting; other constants are not told apart, which may keep too much.
inline ExprId constant_expr(ExpressionBuilder& e, double value) {
    return e.leaf(value == -1 ? constant_minus_one : constant_minus_one + 2);
}
inline ExprId scale_expr(ExpressionBuilder& e, Arguments a, Words const& in) {
    auto const value = in.attributes.get(AttributeName::by, 1) / in.attributes.get(AttributeName::over, 1);
    return e.mul(constant_expr(e, value), a[0]);
}
inline ExprId shift_expr(ExpressionBuilder& e, Arguments a, Words const& in) {
    return e.add(a[0], constant_expr(e, in.attributes.get(AttributeName::by, 0)));
}
inline ExprId reciprocal_expr(ExpressionBuilder& e, Arguments a, Words const&) { return e.inverse(a[0]); }
/// In one order: both commute.
template <OpCode F>
ExprId commutative_call_expr(ExpressionBuilder& e, Arguments a, Words const&) {
    std::array const sorted{std::min(a[0], a[1]), std::max(a[0], a[1])};
    return e.call(F, {}, sorted);
}
/// The number of values is forgotten: the largest of the largest of parts is the largest.
template <OpCode F>
ExprId extremum_expr(ExpressionBuilder& e, Arguments a, Words const&) {
    return e.call(F, {}, a.first(1));
}
/// In a concatenation, the first part stands for all.
inline ExprId same_expr(ExpressionBuilder&, Arguments a, Words const&) { return a[0]; }
inline ExprId accumulate_expr(ExpressionBuilder& e, Arguments a, Words const& in) { return e.sum(in.loop_range, a[0]); }
inline ExprId accumulate_sum_expr(ExpressionBuilder& e, Arguments a, Words const& in) {
    return e.sum(in.loop_range * summed(in), a[0]);
}
inline ExprId accumulate_sum_to_expr(ExpressionBuilder& e, Arguments a, Words const& in) {
    return e.sum(in.loop_range * summed_to(in), a[0]);
}
/// The factors that make up for the maxima of steps cancel against those in x.
inline ExprId accumulate_rescaled_expr(ExpressionBuilder& e, Arguments a, Words const& in) {
    return e.sum(in.loop_range, a[0]);
}
inline ExprId accumulate_rescaled_sum_expr(ExpressionBuilder& e, Arguments a, Words const& in) {
    return e.sum(in.loop_range * summed(in), a[0]);
}
inline ExprId accumulate_rms_expr(ExpressionBuilder& e, Arguments a, Words const& in) {
    return e.call(OpCode::rms, in.loop_range * summed(in), a);
}

} // namespace espalier::program::rules
