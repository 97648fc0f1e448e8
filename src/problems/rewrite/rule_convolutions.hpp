#pragma once

#include "rule_ops.hpp"

/// How operators of rules around convolutions are made.
namespace espalier::problems::rewrite {

using Written = std::optional<std::vector<Made>>;

[[nodiscard]] std::vector<std::int64_t> cuts_along(Made const& made, std::size_t axis);

/// Stride 1, as much padding as keeps the image's size; groups follow from the channels.
[[nodiscard]] Written write_conv3x3(WriteInput const& in);
[[nodiscard]] Written write_conv1x1(WriteInput const& in);
[[nodiscard]] Written write_conv1x3(WriteInput const& in);
/// Zeros around a kernel, so that it is 3 x 3.
[[nodiscard]] Written write_enlarge(WriteInput const& in);
/// With stride, padding and so on of the convolution that it takes the place of.
[[nodiscard]] Written write_conv(WriteInput const& in);
/// The outputs of a convolution, each times a number.
[[nodiscard]] Written write_scale_outputs(WriteInput const& in);
/// The inputs of a convolution, each times a number; with groups an output has only those of its own.
[[nodiscard]] Written write_scale_inputs(WriteInput const& in);
/// Half as many groups: zeros where a group did not read.
[[nodiscard]] Written write_merge_groups(WriteInput const& in);

} // namespace espalier::problems::rewrite
