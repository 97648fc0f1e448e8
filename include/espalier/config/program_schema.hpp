#pragma once

#include "espalier/config/codec.hpp"

#include "espalier/program/source.hpp"

#include <string>
#include <vector>

namespace espalier::config {

/// What the key `program` says.
struct ProgramChoice {
    program::Source source;
    std::string builtin;             ///< empty: written in ops
    std::vector<std::int64_t> sizes; ///< of all keys of the built-in, and its variant if it is not the first
};

/// A built-in program with its sizes, or a program in dims, inputs, ops and outputs.
[[nodiscard]] Codec<ProgramChoice> program_codec();
/// Equal programs become equal: ops by their own names, attributes without defaults, results numbered. Names of inputs
/// and dims stay.
[[nodiscard]] program::Source canonical_source(program::Source const& source);

} // namespace espalier::config
