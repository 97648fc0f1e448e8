#pragma once

#include "store.hpp"

namespace espalier::expr {

/// The expressions themselves, what their monomials divide by, the arguments of their functions, and so on down; each
/// once.
[[nodiscard]] std::vector<ExprId> closure_of(Store const& store, std::span<ExprId const> expressions);

/// Whether a monomial has the function.
[[nodiscard]] bool has(Store const& store, Mono const& mono, program::OpCode function);

} // namespace espalier::expr
