#pragma once

#include "espalier/problems/rewrite/rules.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace espalier::problems::rewrite {

using substitution::library::InputClass;

/// What an operator of a rule reads: a value of the graph, or a number that the op has as an attribute.
struct Operand {
    ValueId value = no_value;
    ConstantPtr constant;        ///< of an attribute
    bool is_per_channel = false; ///< as data have it: channels are their second dimension
};
/// An op of a graph as an operator of a rule: its operands and results in the order of the rule.
struct Reading {
    std::vector<Operand> in;
    std::vector<ValueId> out;
};
/// Where a rule's tensors were put together, by axis: a split cuts at the last one.
using Cuts = std::vector<std::vector<std::int64_t>>;

/// An operand, while the other side of a rule is built.
struct Made {
    ValueId value = no_value;
    InputClass kind = InputClass::data;
    Cuts cuts;
};
/// What the op that is replaced was like, for what rules do not speak of: stride, padding.
struct Replaced {
    Operation const* convolution = nullptr;
};
struct WriteInput {
    Builder& builder;
    std::vector<Made> const& in;
    std::map<std::string, std::int64_t> const& attributes;
    Replaced const& replaced;
};

/// One operator of rules. `read` gives nothing where the op is another one.
struct RuleOp {
    std::string_view name;
    std::vector<std::string_view> ops = {}; ///< of a model, that it may be; none: it is only made, of constants
    std::vector<Reading> (*read)(Graph const&, Operation const&) = nullptr;
    std::optional<std::vector<Made>> (*write)(WriteInput const&) = nullptr;
};
[[nodiscard]] RuleOp const* find_rule_op(std::string_view name);

/// Of operands: a tensor of data makes data, weights make weights.
[[nodiscard]] InputClass kind_of(std::vector<Made> const& operands);

} // namespace espalier::problems::rewrite
