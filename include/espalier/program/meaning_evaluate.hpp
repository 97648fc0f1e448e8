#pragma once

#include "espalier/program/meaning.hpp"

#include <concepts>
#include <optional>

namespace espalier::program {

/// Numbers that ops can be evaluated on.
template <class D>
concept ScalarDomain = requires(D domain, typename D::Value value, OpCode op, std::int64_t whole, double number) {
    { domain.zero() } -> std::same_as<typename D::Value>;
    { domain.whole(whole) } -> std::same_as<typename D::Value>;
    { domain.apply(op, value, value) } -> std::same_as<typename D::Value>; ///< a pointwise op of the table
    { domain.number(number) } -> std::same_as<typename D::Value>;
};

/// Evaluates nests as they are written, value by value. Slow and plain.
///
/// `fetch(source, step, index)` returns a value of an operand or of an earlier nest's result, or nothing, which is left
/// out of the reduction.
template <ScalarDomain Domain, class Fetch>
class NestEvaluator {
public:
    using Value = typename Domain::Value;

    NestEvaluator(Domain& domain, Fetch fetch) : domain_(domain), fetch_(std::move(fetch)) {}

    /// What the nest makes, row-major.
    [[nodiscard]] std::vector<Value> run(Nest const& nest) {
        std::vector<Value> out;
        std::vector<std::int64_t> loops(nest.loops());
        auto const results = element_count(nest.kept);
        for (std::int64_t n = 0; n < results; ++n) {
            set_loops(nest, 0, static_cast<std::size_t>(nest.kept.rank()), n, loops);
            out.push_back(result(nest, loops));
        }
        return out;
    }

private:
    /// The n-th values of loops [from, to), the last one fastest.
    static void set_loops(Nest const& nest, std::size_t from, std::size_t to, std::int64_t n,
                          std::vector<std::int64_t>& loops) {
        for (auto i = to; i-- > from; n /= nest.loop_size(i)) loops[i] = n % nest.loop_size(i);
    }
    Value result(Nest const& nest, std::vector<std::int64_t>& loops) {
        std::optional<Value> reduced;
        std::int64_t count = 0;
        for (std::int64_t n = 0; n < nest.count(); ++n) {
            set_loops(nest, static_cast<std::size_t>(nest.kept.rank()), nest.loops(), n, loops);
            auto const value = body(nest, loops);
            if (value) reduced = reduced ? reduce(nest.reducer, *reduced, *value) : *value;
            count += value ? 1 : 0;
        }
        return epilogue(nest, reduced.value_or(domain_.zero()), count);
    }
    Value reduce(Reducer reducer, Value const& a, Value const& b) {
        if (reducer == Reducer::sum) return domain_.apply(OpCode::add, a, b);
        return domain_.apply(reducer == Reducer::maximum ? OpCode::maximum : OpCode::minimum, a, b);
    }
    /// Nothing where a read says to skip.
    std::optional<Value> body(Nest const& nest, std::vector<std::int64_t> const& loops) {
        std::vector<Value> values;
        for (auto const& node : nest.body) {
            if (node.kind == ScalarNode::Kind::apply) {
                values.push_back(domain_.apply(node.op, values[node.a], values[node.b]));
                continue;
            }
            auto const value = read(nest.reads[node.read], loops);
            if (!value) return std::nullopt;
            values.push_back(*value);
        }
        return values.back();
    }
    std::optional<Value> read(Read const& from, std::vector<std::int64_t> const& loops) {
        std::vector<std::int64_t> index;
        for (int d = 0; d < from.index.rank(); ++d) {
            index.push_back(from.index[d].at(loops));
            if (index.back() >= 0 && index.back() < from.shape[d]) continue;
            ESP_EXPECT(from.outside != Outside::never);
            return from.outside == Outside::zero ? std::optional(domain_.zero()) : std::nullopt;
        }
        return fetch_(from.source, from.step.at(loops), index);
    }
    /// `count`: of the values that were reduced.
    Value epilogue(Nest const& nest, Value const& reduced, std::int64_t count) {
        std::vector<Value> values;
        for (auto const& node : nest.epilogue) {
            if (node.kind == ScalarNode::Kind::apply)
                values.push_back(domain_.apply(node.op, values[node.a], values[node.b]));
            else if (node.kind == ScalarNode::Kind::number)
                values.push_back(domain_.number(node.number));
            else
                values.push_back(node.kind == ScalarNode::Kind::reduced ? reduced : domain_.whole(count));
        }
        return values.empty() ? reduced : values.back();
    }

    Domain& domain_;
    Fetch fetch_;
};

} // namespace espalier::program
