#pragma once

#include "espalier/model/nest.hpp"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace espalier::model {

using Wholes = std::vector<std::int64_t>;

/// Thrown by the rule of an op for a node that it does not cover, and caught in define_call(): rules are read top to
/// bottom, without a branch per thing that may be missing.
struct NotCovered {
    std::string why;
};
template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
    throw NotCovered{fmt::format(format, std::forward<Args>(args)...)};
}

/// What is known about values, wherever it comes from: what was inferred, or what was computed already.
struct Knowledge {
    std::function<Known const*(std::string const&)> type;
    /// The elements of a tensor of whole numbers that is the same whenever the model runs with these sizes.
    std::function<std::optional<Wholes>(std::string const&)> wholes;
};

/// A node with what is known about its operands, as the rules of ops ask for it. What is not there or of the wrong kind
/// is refused.
class Call {
public:
    Call(Node const& node, std::int64_t opset, Knowledge const& knowledge)
        : node_(node), opset_(opset), knowledge_(knowledge) {}

    [[nodiscard]] Node const& node() const { return node_; }
    [[nodiscard]] std::int64_t opset() const { return opset_; }
    /// Without those at the end that are left out.
    [[nodiscard]] std::size_t inputs() const;
    [[nodiscard]] bool has(std::size_t input) const { return !node_.input(input).empty(); }
    [[nodiscard]] Known const& type(std::size_t input) const;
    [[nodiscard]] Dims const& dims(std::size_t input) const { return type(input).dims; }
    [[nodiscard]] std::int64_t rank(std::size_t input) const { return static_cast<std::int64_t>(dims(input).size()); }
    /// Of an operand that only says how: axes, sizes, ..
    [[nodiscard]] Wholes constant(std::size_t input) const;
    /// Whether an output after the first is used.
    [[nodiscard]] bool wants(std::size_t output) const {
        return output < node_.outputs.size() && !node_.outputs[output].empty();
    }

    [[nodiscard]] bool has_attribute(char const* name) const { return node_.attributes.contains(name); }
    [[nodiscard]] std::int64_t whole(char const* name, std::int64_t otherwise) const;
    [[nodiscard]] double real(char const* name, double otherwise) const;
    [[nodiscard]] std::string text(char const* name, std::string const& otherwise) const;
    [[nodiscard]] std::optional<Wholes> wholes(char const* name) const;
    /// An attribute in older opsets, an operand in newer ones. Nothing if it was left out.
    [[nodiscard]] std::optional<Wholes> attribute_or_input(char const* name, std::size_t input) const;

    /// Of numbers that sizes are made of: none is so large that it could only be a mistake.
    static Wholes const& moderate(Wholes const& numbers);
    /// Counted from the front; refused if there is none such.
    [[nodiscard]] std::size_t axis(std::int64_t axis, std::int64_t rank) const;
    /// Each once, in order.
    [[nodiscard]] std::vector<std::size_t> axes(Wholes const& axes, std::int64_t rank) const;

private:
    Node const& node_;
    std::int64_t opset_;
    Knowledge const& knowledge_;
};

/// `dims` as [2, 3].
[[nodiscard]] std::string words(Dims const& dims);

/// An attribute that an op takes, before some opset.
struct OpAttribute {
    constexpr OpAttribute(char const* attribute, std::int64_t first_without = 1 << 20) // NOLINT: names are attributes
        : name(attribute), before(first_without) {}

    std::string_view name;
    std::int64_t before;
};
/// A row of the table of ops.
struct OpRow {
    using Rule = Definition (*)(Call const&);
    /// Of operands that are computed with.
    enum class Elements : std::uint8_t { reals, numbers, booleans, any };

    std::string_view name;
    std::int64_t since = 1; ///< the first opset that has it, or whose description the rule follows
    Rule rule = nullptr;
    Elements elements = Elements::reals;
    std::size_t least_inputs = 1, most_inputs = 1;
    std::vector<OpAttribute> attributes;
};
[[nodiscard]] std::vector<OpRow> const& op_rows();

[[nodiscard]] DefinitionOr define_call(Node const& node, Model const& model, Knowledge const& knowledge);

} // namespace espalier::model
