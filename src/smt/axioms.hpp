#pragma once

#include <string_view>

namespace espalier::smt {

/// The sorts, the operations without functions, and their laws: E are expressions, S sizes, `part` says that an
/// expression is a subexpression of a target.
[[nodiscard]] std::string_view arithmetic_axioms();

/// The laws of `sum`, but for sums of sums, which depend on the sizes.
[[nodiscard]] std::string_view sum_axioms();

/// exp(x) exp(y) = exp(x + y) and sqrt(x) sqrt(y) = sqrt(x y).
[[nodiscard]] std::string_view exponential_axiom();
[[nodiscard]] std::string_view root_axiom();

} // namespace espalier::smt
