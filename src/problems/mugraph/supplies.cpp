#include "supplies.hpp"

#include "espalier/problems/mugraph/node.hpp"

#include <algorithm>

namespace espalier::problems::mugraph {
namespace {

using Kind = expr::Ingredient::Kind;
using program::ExprId;

/// Takes note of what an op's expression is built with. Its numbers say only how many multiplications made something,
/// or that it is a constant.
class Recorder final : public program::ExpressionBuilder {
public:
    Recorder(std::span<expr::Ingredient const> wanted, Supply& out) : wanted_(wanted), out_(out) {}

private:
    static constexpr ExprId constant{1000};

    ExprId leaf(int index) override {
        supply([&](auto const& one) { return one.kind == Kind::constant && one.constant == index; });
        return constant;
    }
    ExprId add(ExprId a, ExprId b) override {
        out_.has_sums = true;
        supply([](auto const& one) { return one.kind == Kind::several; });
        return a == constant ? b : b == constant ? a : std::max(a, b);
    }
    ExprId mul(ExprId a, ExprId b) override {
        if (a == constant || b == constant) return a == constant ? b : a;
        ExprId const out{a.value + b.value + 1};
        out_.products = std::max(out_.products, static_cast<int>(out.value));
        return out;
    }
    ExprId div(ExprId a, ExprId) override {
        supply([](auto const& one) { return one.kind == Kind::quotient; });
        return a;
    }
    ExprId inverse(ExprId a) override { return div({}, a); }
    ExprId sum(program::Word const&, ExprId a) override {
        if (a.value == 0) supply([](auto const& one) { return one.kind == Kind::reduction; });
        return a;
    }
    ExprId call(program::OpCode function, program::Word const& size, std::span<ExprId const> arguments) override {
        out_.functions.push_back(function);
        auto const has_laws = arguments.size() == 1 && size.is_unit();
        supply([&](auto const& one) {
            return has_laws && ((one.kind == Kind::exp && function == program::OpCode::exp) ||
                                (one.kind == Kind::sqrt && function == program::OpCode::sqrt));
        });
        return {};
    }
    template <class Is>
    void supply(Is&& is) {
        for (std::size_t i = 0; i < wanted_.size(); ++i)
            if (is(wanted_[i])) out_.ingredients |= expr::Bits{1} << i;
    }

    std::span<expr::Ingredient const> wanted_;
    Supply& out_;
};

} // namespace

Supply supply_of(SearchOp const& op, std::span<expr::Ingredient const> wanted) {
    Supply out;
    auto const& row = op.row();
    Recorder recorder(wanted, out);
    program::SymbolicShape shape;
    for (int d = 0; d < program::max_rank; ++d) shape.push({});
    std::vector<program::SymbolicShape> const shapes(max_operands, shape);
    std::vector<ExprId> const operands(max_operands);
    auto const count = static_cast<std::size_t>(row.inputs);
    static_cast<void>(row.expression(recorder, std::span(operands).first(count),
                                     {std::span(shapes).first(count), op.attributes, {}, {}}));
    out.uses_up = std::max(0, row.inputs - row.outputs);
    out.is_accumulator = program::is_accumulator(row);
    return out;
}

} // namespace espalier::problems::mugraph
