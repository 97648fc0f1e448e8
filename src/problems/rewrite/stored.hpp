#pragma once

#include "espalier/problems/kind/stored_results.hpp"
#include "espalier/problems/rewrite/rewrite.hpp"

#include <optional>
#include <vector>

/// What a stored run knows; only what is drawn or written needs the model itself again.
namespace espalier::problems::rewrite {

/// A result and what it says.
struct StoredVariant {
    search::ResultRecord record;
    Variant variant;
};
/// Whole models first, then parts; each the best first.
[[nodiscard]] std::vector<StoredVariant> ranked_variants(std::vector<search::ResultRecord> const& results);
/// The best whole model that is better than the input; null: none is.
[[nodiscard]] StoredVariant const* answer(std::vector<StoredVariant> const& ranked);
/// `nodes`, `understood`, .. of `rewrite` in JSON.
[[nodiscard]] base::Json summary_json(StoredRun const& run);

/// The model of a run, which must be as it was then. Throws InputError.
[[nodiscard]] Plan plan_of(RewriteConfig const& config);
/// The input if there is nothing better.
[[nodiscard]] model::Model output_model(StoredRun const& run);

} // namespace espalier::problems::rewrite
