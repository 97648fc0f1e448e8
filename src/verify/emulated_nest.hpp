#pragma once

#include "emulated_number.hpp"
#include "region.hpp"

#include "espalier/program/meaning.hpp"

#include <optional>

namespace espalier::verify::emulated {

/// Which elements of a tensor: rising indices for each dimension, meaning their product.
using Box = std::vector<Indices>;
[[nodiscard]] std::size_t size_of(Box const& box);
/// The same for boxes of any size.
[[nodiscard]] double volume(Box const& box);

/// The elements of its operands and of its nests' results that an op needs for the elements in `out`: in the order in
/// which reads number their sources.
[[nodiscard]] std::vector<Box> needed(program::Meaning const& meaning, std::size_t operands, Box const& out);

/// Whether it reads one tile of each step of a for-loop.
[[nodiscard]] bool is_in_steps(program::Nest const& nest);

/// Where in a box of its source a read finds its values. What it refers to outlives it.
class ReadPlaces {
public:
    ReadPlaces(program::Read const& read, std::vector<Indices> const& loops, Box const& source);
    /// What the loops [from, to) add to the place, each at a place of its own list.
    [[nodiscard]] std::int64_t along(std::vector<std::size_t> const& places, std::size_t from, std::size_t to) const {
        std::int64_t out = 0;
        for (auto loop = from; loop < to; ++loop)
            if (!by_loop_[loop].empty()) out += by_loop_[loop][places[loop]];
        return out;
    }
    /// The part that does not come from one loop alone.
    [[nodiscard]] std::int64_t rest(std::vector<std::size_t> const& places) const {
        return crossings_.empty() ? constant_ : constant_ + across(places);
    }
    [[nodiscard]] bool has_crossings() const { return !crossings_.empty(); }

private:
    /// A dimension in which several loops meet.
    struct Crossing {
        int dim = 0;
        std::int64_t stride = 1;
    };
    [[nodiscard]] std::int64_t across(std::vector<std::size_t> const& places) const;
    void add(int dim, std::int64_t stride);

    program::Read const& read_;
    std::vector<Indices> const& loops_;
    Box const& source_;
    std::int64_t constant_ = 0;
    std::vector<std::vector<std::int64_t>> by_loop_;
    std::vector<Crossing> crossings_;
};

/// A scalar expression that is ready to be computed.
class Formula {
public:
    explicit Formula(program::ScalarExpression const& expression);
    [[nodiscard]] bool empty() const { return nodes_.empty(); }
    /// `leaf(node)` gives a value, or null where the whole has none; so does this.
    template <class Leaf>
    [[nodiscard]] Number const* operator()(program::Attributes const& attributes, Leaf&& leaf) {
        using Kind = program::ScalarNode::Kind;
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            auto const& node = nodes_[i];
            if (node.of.kind == Kind::apply) {
                values_[i] = applied(node, attributes);
            } else if (node.of.kind != Kind::number) { // which is there from the beginning
                Number const* const value = leaf(node.of);
                if (value == nullptr) return nullptr;
                values_[i] = *value;
            }
        }
        return &values_.back();
    }

private:
    struct Node {
        program::ScalarNode of;
        program::RealRule rule = nullptr; ///< of what is applied
    };
    [[nodiscard]] Number applied(Node const& node, program::Attributes const& attributes) const {
        auto const &a = values_[node.of.a], &b = values_[node.of.b];
        if (node.of.op == program::OpCode::mul) return Arithmetic::product(a, b); // most of the work
        return Arithmetic::apply(node.rule, a, b, attributes);
    }

    std::vector<Node> nodes_;
    Numbers values_;
};

/// A nest on boxes of its sources. Reduces one after the other in the order of the loops. An accumulator is given the
/// tiles of one step after the other, and what each step sums to is added to the sum so far.
class NestRun {
public:
    NestRun(program::Nest const& nest, program::Attributes const& attributes, Box const& kept,
            std::vector<Box> const& sources);
    void add(std::vector<Numbers const*> const& sources);
    /// For another run of the same nest, on other parts of the sources.
    using Sums = std::vector<std::optional<Number>>;
    [[nodiscard]] Sums take_sums() { return std::move(sums_); }
    void go_on_from(Sums sums) { sums_ = std::move(sums); }
    /// In f32: nothing is stored yet. `values`: how many are in a mean.
    [[nodiscard]] Numbers finish(std::int64_t values);

private:
    [[nodiscard]] std::optional<Number> partial(std::vector<Numbers const*> const& sources);
    [[nodiscard]] Number const* read(std::size_t number, std::size_t point, Numbers const& source) const;
    [[nodiscard]] std::int64_t reduced_part(std::size_t number) const;
    void number_points();
    [[nodiscard]] Number reduce(Number a, Number b) const {
        using enum program::Reducer;
        if (nest_.reducer == none || nest_.reducer == sum) return Arithmetic::sum(a, b);
        auto const op = nest_.reducer == maximum ? program::OpCode::maximum : program::OpCode::minimum;
        return Arithmetic::apply(program::info(op).real, a, b, attributes_);
    }
    [[nodiscard]] std::size_t kept_loops() const { return static_cast<std::size_t>(nest_.kept.rank()); }
    void advance(std::size_t from, std::size_t to);

    program::Nest const& nest_;
    program::Attributes const& attributes_;
    std::vector<Indices> loops_;
    std::vector<ReadPlaces> reads_;
    Formula body_, epilogue_;
    Sums sums_;
    bool has_crossings_ = false;
    std::size_t points_ = 1;                         ///< of a result, in one step
    std::vector<std::size_t> places_;                ///< of the loops, in their lists
    std::vector<std::int64_t> starts_;               ///< of the reads, for the result at hand
    std::vector<std::vector<std::int64_t>> offsets_; ///< of the reads, by point; empty if they depend on the result
};

} // namespace espalier::verify::emulated
