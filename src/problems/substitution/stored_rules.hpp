#pragma once

#include "espalier/problems/substitution/library.hpp"
#include "espalier/problems/substitution/operator_graph.hpp"
#include "espalier/search/types.hpp"

#include <string>

/// Rules as they are stored and presented.
namespace espalier::problems::substitution {

struct StoredRule {
    OperatorGraph left, right;
    std::string condition; ///< on the sizes of the inputs; empty if it is not proved
};
/// Throws SystemError if the record is not a rule.
[[nodiscard]] StoredRule rule_of(search::ResultRecord const& record);
[[nodiscard]] std::string rule_text(StoredRule const& rule);

/// As a plain value, for libraries and JSON.
[[nodiscard]] library::Rule plain_rule(search::ResultRecord const& record);

/// Whether both sides agree for other sizes and values than those of the search.
[[nodiscard]] bool holds_again(StoredRule const& rule, std::uint64_t seed);
/// The proof, done again.
[[nodiscard]] bool is_proved_again(StoredRule const& rule);

} // namespace espalier::problems::substitution
