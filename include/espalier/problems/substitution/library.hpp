#pragma once

#include "espalier/base/json.hpp"
#include "espalier/search/known.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Rules as plain values, as `show RUN --format rules` writes them and whoever rewrites models reads them.
namespace espalier::problems::substitution::library {

/// What an input of a rule may stand for.
enum class InputClass : std::uint8_t {
    data,    ///< any tensor
    scalar,  ///< a constant number
    channel, ///< a constant number for each channel
    weights, ///< of a convolution; constant
};

struct Input {
    std::string name;
    InputClass kind = InputClass::data;
    std::optional<int> rank = {}; ///< nothing: any
    /// What is asked of its sizes, if anything: `n0`, `3`, `n0 + n1`; equal names are equal sizes.
    std::vector<std::string> dims = {};

    bool operator==(Input const&) const = default;
};

/// Operands are names of inputs and of what was made before, or numbers: `6`, `1/6`.
struct Operator {
    std::string op;
    std::vector<std::string> inputs, outputs;
    std::map<std::string, std::int64_t> attributes = {};

    bool operator==(Operator const&) const = default;
};

/// Operators in an order in which operands come first.
struct Graph {
    std::vector<Operator> operators;
    std::vector<std::string> outputs;

    bool operator==(Graph const&) const = default;
};

enum class Sign : std::uint8_t { positive, negative };
/// A rule that holds only for some values of a parameter; of one for each channel: for all of them.
struct SignCondition {
    std::string of;
    Sign is = Sign::positive;

    bool operator==(SignCondition const&) const = default;
};

/// Two graphs that compute the same from the same inputs, output by output, wherever both mean something: no divisor is
/// 0, and no lower bound of a clip is above the upper one.
struct Rule {
    std::string key; ///< the same for the same rule
    search::Verification verified = search::Verification::random;
    std::string condition; ///< in words; of sizes or signs
    std::vector<Input> inputs;
    std::vector<SignCondition> parameters;
    Graph left, right;

    bool operator==(Rule const&) const = default;
    [[nodiscard]] bool is_proved() const { return verified == search::Verification::proved; }
    /// Null: none of its inputs.
    [[nodiscard]] Input const* input(std::string_view name) const;
};

struct Library {
    std::string space; ///< which operators it speaks of
    std::vector<Rule> rules;

    bool operator==(Library const&) const = default;
};

/// The value of an operand that is a number: `6`, `-1/6`.
[[nodiscard]] std::optional<double> number_of(std::string_view operand);

/// `t1 = matmul X1 W1; t2 = relu t1; out t2`.
[[nodiscard]] std::string to_text(Graph const& graph);

/// Throws InputError, which names the rule.
[[nodiscard]] Library parse_library(std::string_view text);
[[nodiscard]] Rule parse_rule(std::string_view text);
[[nodiscard]] base::Json to_json(Rule const& rule);
[[nodiscard]] base::Json to_json(Library const& library);

} // namespace espalier::problems::substitution::library

namespace espalier::problems::substitution {

/// The rules that come with the program, all of them proved: config/rules/default.json. Read once.
[[nodiscard]] library::Library const& default_library();

} // namespace espalier::problems::substitution
