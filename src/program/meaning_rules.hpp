#pragma once

#include "espalier/program/meaning.hpp"

/// What the ops of each way of access compute, by what their rows say.
namespace espalier::program::rules {

using Numbers = RuleInput<std::int64_t>;

/// out[i..] = op(in0[i..], in1[i..]), broadcasting.
[[nodiscard]] Meaning pointwise_meaning(OpInfo const& row, Numbers const& in, Shape const& out);
/// out[.., m, n] = sum over k of in[t][.., m, k - from] in[t + terms][.., k - from, n], summed over t: the operands
/// stand side by side along k, and each is zero where the others are.
[[nodiscard]] Meaning contraction_meaning(OpInfo const& row, Numbers const& in, Shape const& out);
/// Over the axis, over the tiles of the for-loop, or both.
[[nodiscard]] Meaning reduction_meaning(OpInfo const& row, Numbers const& in, Shape const& out);
/// The sum over steps and the axis of x exp(m - M), where M is the largest m of all steps.
[[nodiscard]] Meaning rescaled_meaning(OpInfo const& row, Numbers const& in, Shape const& out);
/// out[i..] = in[i.. in another order].
[[nodiscard]] Meaning rearrange_meaning(OpInfo const& row, Numbers const& in, Shape const& out);
/// out at row-major place n = in at row-major place n.
[[nodiscard]] Meaning reshape_meaning(OpInfo const& row, Numbers const& in, Shape const& out);
/// out[.., i, ..] = in[.., from + i, ..].
[[nodiscard]] Meaning slice_meaning(OpInfo const& row, Numbers const& in, Shape const& out);
/// out[.., i, ..] = sum over t of in[t][.., i - from[t], ..], each zero where the others are.
[[nodiscard]] Meaning concat_meaning(OpInfo const& row, Numbers const& in, Shape const& out);
/// y / sqrt(mean of y^2 + eps) or, to centre, y alone, where y is x or x - mean of x.
[[nodiscard]] Meaning normalise_meaning(OpInfo const& row, Numbers const& in, Shape const& out);

} // namespace espalier::program::rules
