#pragma once

#include "espalier/problems/mutation/mutation.hpp"

namespace espalier::problems::mutation {

/// Where a mutant equals the original on random whole numbers: data are moved and multiplied as the definitions say,
/// without arrangements, chains or finite fields.
[[nodiscard]] std::vector<std::uint8_t> equal_on_numbers(Mutants const& mutants, Mutant const& mutant,
                                                         std::uint64_t seed);

} // namespace espalier::problems::mutation
