#pragma once

#include "espalier/model/nest.hpp"

#include <utility>

namespace espalier::model {

/// A scalar expression in the making, written like one.
class Formula {
public:
    Formula(double number) : nodes_{{.kind = Kind::number, .number = number}} {} // NOLINT: numbers are formulas
    [[nodiscard]] static Formula read(std::size_t i) { return Formula(Kind::read, i); }
    [[nodiscard]] static Formula loop(std::size_t i) { return Formula(Kind::loop, i); }
    [[nodiscard]] static Formula reduced() { return Formula(Kind::reduced, 0); }
    /// Of the values that were reduced.
    [[nodiscard]] static Formula count() { return Formula(Kind::count, 0); }
    template <class... Arguments>
    [[nodiscard]] static Formula apply(Function function, Arguments const&... arguments) {
        Formula out;
        ScalarNode last{.kind = Kind::apply, .function = function};
        std::size_t i = 0;
        ((last.arguments[i++] = out.append(arguments)), ...);
        out.nodes_.push_back(last);
        return out;
    }
    [[nodiscard]] Expression const& nodes() const { return nodes_; }

    friend Formula operator+(Formula const& a, Formula const& b) { return apply(Function::add, a, b); }
    friend Formula operator-(Formula const& a, Formula const& b) { return apply(Function::sub, a, b); }
    friend Formula operator*(Formula const& a, Formula const& b) { return apply(Function::mul, a, b); }
    friend Formula operator/(Formula const& a, Formula const& b) { return apply(Function::div, a, b); }

private:
    using Kind = ScalarNode::Kind;

    Formula() = default;
    Formula(Kind kind, std::size_t index) : nodes_{{.kind = kind, .index = index}} {}
    /// Where its value is.
    std::size_t append(Formula const& other) {
        auto const from = nodes_.size();
        for (auto node : other.nodes_) {
            for (auto& argument : node.arguments) argument += from;
            nodes_.push_back(node);
        }
        return nodes_.size() - 1;
    }

    Expression nodes_;
};

[[nodiscard]] inline Formula apply(Function function, Formula const& a) { return Formula::apply(function, a); }
[[nodiscard]] inline Formula maximum(Formula const& a, Formula const& b) {
    return Formula::apply(Function::maximum, a, b);
}
[[nodiscard]] inline Formula minimum(Formula const& a, Formula const& b) {
    return Formula::apply(Function::minimum, a, b);
}

/// The variable of a loop, as it is or times a stride.
[[nodiscard]] inline Position at_loop(std::size_t loop, std::int64_t stride = 1, std::int64_t offset = 0) {
    return {.steps = {{loop, stride}}, .offset = offset, .looked_up = {}};
}
/// Dimension by dimension at the loops from `first` on.
[[nodiscard]] Read read_at_loops(std::size_t source, Dims const& shape, std::size_t first = 0);
/// At the loops that are kept, right-aligned; sizes of 1 are read at 0.
[[nodiscard]] Read read_broadcast(std::size_t source, Dims const& shape, Dims const& kept);
/// The same elements in their order as a tensor of another shape.
[[nodiscard]] Nest view_nest(std::size_t source, Known const& out);
/// A definition of one nest that makes the only output.
[[nodiscard]] Definition single(std::size_t operands, Nest nest);
/// Of nests, the last of which makes the only output.
[[nodiscard]] Definition last_of(std::size_t operands, std::vector<Nest> nests);
/// Nothing if they do not fit.
[[nodiscard]] std::optional<Dims> broadcast(Dims const& a, Dims const& b);

} // namespace espalier::model
