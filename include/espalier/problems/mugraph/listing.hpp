#pragma once

#include "espalier/problems/mugraph/report.hpp"

/// Which results a list has, and the lists.
namespace espalier::problems::mugraph {

/// Programs that are one algebraic form on different schedules.
struct Form {
    std::uint64_t key = 0;
    std::size_t best = 0;      ///< the place of its cheapest program in the list
    std::size_t schedules = 0; ///< how many programs it has
};
/// Of records as StoredResults::ranked() gives them, here and below. The form of the cheapest program first.
[[nodiscard]] std::vector<Form> forms_of(Records const& list);
/// `[{form, schedules, best}]`, `best` being the key of a program.
[[nodiscard]] base::Json forms_json(Records const& list);

/// Which programs to measure: the cheapest of each form, then others, without those that have a time.
[[nodiscard]] Records worth_measuring(Records const& list, std::size_t top);

/// One row per form, its cheapest program; forms that are slower than the input are left out. `top` 0: all.
[[nodiscard]] Listing listed(MugraphConfig const& config, Records const& list, std::size_t top);
/// The same as a table, with the input program below it.
[[nodiscard]] std::string results_text(MugraphConfig const& config, Records const& list, std::size_t top);
/// One row per program.
[[nodiscard]] std::string all_results_text(MugraphConfig const& config, Records const& list, std::size_t top);

} // namespace espalier::problems::mugraph
