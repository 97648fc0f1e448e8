#pragma once

#include "espalier/config/codec.hpp"

#include "espalier/program/source.hpp"

namespace espalier::config {

/// A program in dims, inputs, ops and outputs. What is read is checked as a whole: all that is wrong is reported, each
/// at the place where it is written.
[[nodiscard]] Codec<program::Source> op_list_codec();

/// f16 and the others.
[[nodiscard]] Scalar<program::DType> dtype_word();

} // namespace espalier::config
