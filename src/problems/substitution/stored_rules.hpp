#pragma once

#include "espalier/base/json.hpp"
#include "espalier/problems/substitution/operator_graph.hpp"
#include "espalier/search/types.hpp"

#include <string>

/// Rules as they are stored and told.
namespace espalier::problems::substitution {

struct StoredRule {
    OperatorGraph left, right;
};
/// Throws SystemError if the record is not a rule.
[[nodiscard]] StoredRule rule_of(search::ResultRecord const& record);
[[nodiscard]] std::string rule_text(StoredRule const& rule);

/// `{"operators": [{"op", "inputs", "outputs"}], "outputs"}` for each side.
[[nodiscard]] base::Json rule_json(StoredRule const& rule);

/// Whether both sides agree for other sizes and values than those of the search.
[[nodiscard]] bool holds_again(StoredRule const& rule, std::uint64_t seed);

} // namespace espalier::problems::substitution
