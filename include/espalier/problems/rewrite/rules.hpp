#pragma once

#include "espalier/problems/rewrite/graph.hpp"
#include "espalier/problems/substitution/library.hpp"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace espalier::problems::rewrite {

struct RuleOp; ///< how an operator of rules is found in graphs of a model, and made there

/// One operator of a rule: operands and results are numbers of the rule's values.
struct Step {
    RuleOp const* op = nullptr;
    std::vector<std::size_t> in, out;
    std::map<std::string, std::int64_t> attributes;
};

[[nodiscard]] std::string_view name_of(RuleOp const& op);

/// A value of a rule.
struct RuleValue {
    substitution::library::InputClass kind = substitution::library::InputClass::data;
    std::optional<double> number;                        ///< of a constant
    substitution::library::Input const* input = nullptr; ///< null: it is made, or a number
};

/// One direction of a rule, ready to be matched.
struct Pattern {
    substitution::library::Rule const* rule = nullptr;
    bool is_reversed = false;      ///< the rule's right side is looked for
    std::vector<RuleValue> values; ///< of both sides; inputs and numbers are shared
    std::vector<Step> from, to;    ///< what is looked for, results first; what takes its place, operands first
    std::vector<std::size_t> results_from, results_to;
};

/// What a value of a pattern is in a graph.
struct Binding {
    ValueId value = no_value;
    ConstantPtr constant; ///< in the form that rules know it in: one number, or one for each channel
};
/// Where a pattern is: by value and by op of the pattern.
struct Match {
    std::vector<Binding> values;
    std::vector<std::int32_t> ops;
};

/// A library, in both directions of each of its rules.
class Rules {
public:
    struct Options {
        bool unproved = false; ///< also rules that are only known to agree on random values
    };
    Rules(substitution::library::Library library, Options options);

    [[nodiscard]] std::vector<Pattern> const& patterns() const { return patterns_; }
    /// Rules that speak of operators that no model has, or that nobody proved.
    [[nodiscard]] std::size_t left_out() const { return left_out_; }
    /// Patterns whose first op may be an op of this name.
    [[nodiscard]] std::vector<std::size_t> const& of_op(std::string const& op) const;

private:
    substitution::library::Library library_;
    std::vector<Pattern> patterns_;
    std::map<std::string, std::vector<std::size_t>> by_op_;
    std::size_t left_out_ = 0;
};

/// What to call for each place of the pattern in the graph, in a fixed order.
void find(Pattern const& pattern, Graph const& graph, Uses const& uses, std::int32_t first,
          std::function<void(Match const&)> const& visit);

/// The graph with the other side of the rule at that place. Nothing if the other side does not fit there.
[[nodiscard]] std::optional<Graph> applied(Pattern const& pattern, Match const& match, Graph const& graph,
                                           Folder& folder);

} // namespace espalier::problems::rewrite
