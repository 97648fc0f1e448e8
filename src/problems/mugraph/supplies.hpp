#pragma once

#include "espalier/expr/contents.hpp"
#include "espalier/problems/mugraph/space.hpp"

#include <vector>

namespace espalier::problems::mugraph {

/// The ingredients that an op brings into its expressions, whatever its operands are.
struct Supply {
    expr::Bits ingredients = 0;             ///< without calls
    std::vector<program::OpCode> functions; ///< one call of each
    bool divides_by_call = false;           ///< by its own function
    bool has_sums = false;                  ///< adds terms
    int products = 0;                       ///< multiplications, one after the other
    int uses_up = 0;                        ///< by how many tensors it reads more than it makes
    bool is_accumulator = false;
    bool operator==(Supply const&) const = default;
};

/// `wanted` gives the ingredients their bits.
[[nodiscard]] Supply supply_of(SearchOp const& op, std::span<expr::Ingredient const> wanted);

} // namespace espalier::problems::mugraph
