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
    static constexpr ExprId constant{1000}, called{2000};
    static constexpr std::uint32_t depth(ExprId e) { return e.value < constant.value ? e.value : 0; }

    ExprId leaf(int index) override {
        supply([&](auto const& one) { return one.kind == Kind::constant && one.constant == index; });
        return constant;
    }
    ExprId add(ExprId a, ExprId b) override {
        out_.has_sums = true;
        supply([](auto const& one) { return one.kind == Kind::several; });
        return {std::max(depth(a), depth(b))};
    }
    ExprId mul(ExprId a, ExprId b) override {
        if (a == constant) return b;
        if (b == constant) return a;
        ExprId const out{depth(a) + depth(b) + 1};
        out_.products = std::max(out_.products, static_cast<int>(out.value));
        return out;
    }
    ExprId div(ExprId a, ExprId b) override {
        out_.divides_by_call = out_.divides_by_call || b == called;
        if (b != called) supply([](auto const& one) { return one.kind == Kind::quotient; });
        return a;
    }
    ExprId inverse(ExprId a) override { return div({}, a); }
    ExprId sum(program::Word const&, ExprId a) override {
        if (depth(a) == 0) supply([](auto const& one) { return one.kind == Kind::reduction; });
        return a;
    }
    ExprId call(program::OpCode function, program::Word const&, std::span<ExprId const> arguments) override {
        auto const has_laws =
            arguments.size() == 1 && (function == program::OpCode::exp || function == program::OpCode::sqrt);
        out_.functions.push_back(function);
        supply([&](auto const& one) {
            return has_laws && one.kind == (function == program::OpCode::exp ? Kind::exp : Kind::sqrt);
        });
        return has_laws ? ExprId{} : called;
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
