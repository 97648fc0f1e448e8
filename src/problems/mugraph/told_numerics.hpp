#pragma once

#include "espalier/base/json.hpp"
#include "espalier/verify/numerics.hpp"

#include <optional>
#include <string>

namespace espalier::problems::mugraph {

/// How the programs of a list compute in their dtype, one after the other: the time for all of them together is
/// bounded, so that a long list does not keep its reader waiting.
class NumericsOfList {
public:
    /// Nothing if it could not be estimated, or not any more.
    [[nodiscard]] std::optional<verify::Numerics> next(program::Graph const& graph);

private:
    double work_left_ = 5e7; ///< about a second
};

/// `{dtype, rel_error, largest_magnitude, overflows, samples, inputs}`; nulls if it was not estimated, and an error
/// that is infinite is null, too.
[[nodiscard]] base::Json to_json(std::optional<verify::Numerics> const& numerics, program::DType dtype);
/// `3.1e-4`, `overflow` or `not estimated`.
[[nodiscard]] std::string error_text(std::optional<verify::Numerics> const& numerics);
/// The meaning of the errors in a table.
[[nodiscard]] std::string about_errors(program::DType dtype);

} // namespace espalier::problems::mugraph
