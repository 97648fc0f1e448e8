#pragma once

#include "target.hpp"

#include "espalier/program/expression_builder.hpp"

#include <optional>
#include <vector>

/// Abstract expressions of a program that concatenates. They cannot say from which part an element of a concatenation
/// comes, so the program is read in several ways; a subexpression of any of them may be useful.
namespace espalier::problems::mugraph {

/// Builds expressions that know no sizes: sums over parts are parts of the sum over the whole.
class Sizeless final : public program::ExpressionBuilder {
public:
    explicit Sizeless(program::ExpressionBuilder& of) : of_(of) {}
    [[nodiscard]] program::ExprId leaf(int index) override { return of_.leaf(index); }
    [[nodiscard]] program::ExprId add(program::ExprId a, program::ExprId b) override { return of_.add(a, b); }
    [[nodiscard]] program::ExprId mul(program::ExprId a, program::ExprId b) override { return of_.mul(a, b); }
    [[nodiscard]] program::ExprId div(program::ExprId a, program::ExprId b) override { return of_.div(a, b); }
    [[nodiscard]] program::ExprId inverse(program::ExprId a) override { return of_.inverse(a); }
    [[nodiscard]] program::ExprId sum(program::Word const&, program::ExprId a) override { return of_.sum({}, a); }
    [[nodiscard]] program::ExprId call(program::OpCode function, program::Word const&,
                                       std::span<program::ExprId const> arguments) override {
        return of_.call(function, {}, arguments);
    }

private:
    program::ExpressionBuilder& of_;
};

/// Whether sums over parts of a dimension may meet sums over all of it.
[[nodiscard]] bool has_sums_of_parts(Target const& target);
/// Whether there are so many ways to read the program that nothing may be pruned by expressions.
[[nodiscard]] bool has_too_many_readings(Target const& target);
/// The outputs in all readings. Every concatenation is the sum of its parts, or one of them; or every op is applied to
/// part by part, until a reduction sums them up. (A partial program that keeps a concatenation is read as its first
/// part.)
[[nodiscard]] std::vector<program::ExprId> readings_of(Target const& target, program::ExpressionBuilder& builder);
/// The results of the program's reductions, where concatenations are sums.
[[nodiscard]] std::vector<program::ExprId> reductions_of(Target const& target, program::ExpressionBuilder& builder);

} // namespace espalier::problems::mugraph
