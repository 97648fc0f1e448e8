#pragma once

#include "proof_sum.hpp"

namespace espalier::verify::proof {

/// The laws of proof_normal.hpp that change the bound variables of a term: those that do not occur are dropped, those
/// that occur in pieces become their digits, and digits that stand side by side everywhere become one variable.
void settle_bound_variables(Workspace& work, Term& term);

} // namespace espalier::verify::proof
