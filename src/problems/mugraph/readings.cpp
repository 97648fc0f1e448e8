#include "readings.hpp"

#include <algorithm>

namespace espalier::problems::mugraph {
namespace {

using program::ExprId;
using program::OpId;
using program::Word;

constexpr double most_readings = 64;

bool is_concatenation(program::OpInfo const& row) {
    return row.field.access == program::Access::rearrange && row.field.move == program::Move::concat;
}
bool adds(program::OpInfo const& row) {
    return row.field.terms > 1 || (program::is_pointwise(row) &&
                                   (row.field.scalar == field::Scalar::add || row.field.scalar == field::Scalar::sub));
}

/// Which part each concatenation is read as, in the order of the ops; -1: their sum.
using Choice = std::vector<int>;

/// The next choice; false after the last.
bool step(Choice& choice, std::vector<int> const& parts) {
    for (std::size_t i = 0; i < choice.size(); ++i) {
        if (++choice[i] < parts[i]) return true;
        choice[i] = -1;
    }
    return false;
}
std::vector<int> part_counts(Target const& target) {
    std::vector<int> out;
    for (auto const& op : target.graph.ops)
        if (is_concatenation(program::info(op.code))) out.push_back(program::info(op.code).inputs);
    return out;
}

ExprId sum_of(program::ExpressionBuilder& builder, std::vector<ExprId> const& parts) {
    auto out = parts.front();
    for (std::size_t i = 1; i < parts.size(); ++i) out = builder.add(out, parts[i]);
    return out;
}

class Reader {
public:
    Reader(Target const& target, program::ExpressionBuilder& builder) : target_(target), builder_(builder) {}

    std::vector<ExprId> read(Choice const& choice) {
        base::IndexedVector<program::TensorId, ExprId> exprs(inputs());
        std::size_t concatenations = 0;
        for (auto const at : target_.graph.ops.ids()) {
            std::vector<ExprId> arguments;
            for (auto const id : target_.graph.ops[at].inputs) arguments.push_back(exprs[id]);
            auto const& row = program::info(target_.graph.ops[at].code);
            if (is_concatenation(row)) {
                auto const part = choice[concatenations++];
                exprs.push_back(part < 0 ? sum_of(builder_, arguments) : arguments[static_cast<std::size_t>(part)]);
                continue;
            }
            for (int output = 0; output < row.outputs; ++output) exprs.push_back(apply(at, arguments, output));
        }
        std::vector<ExprId> out;
        for (auto const id : target_.graph.outputs) out.push_back(exprs[id]);
        tensors_ = std::move(exprs);
        return out;
    }
    /// The results of reductions in the last reading.
    [[nodiscard]] std::vector<ExprId> reductions() const {
        std::vector<ExprId> out;
        auto next = static_cast<int>(target_.graph.inputs.size());
        for (auto const& op : target_.graph.ops) {
            auto const& row = program::info(op.code);
            if (row.field.access == program::Access::reduction) out.push_back(tensors_[program::TensorId{next}]);
            next += row.outputs;
        }
        return out;
    }

    std::vector<ExprId> read_by_parts() {
        base::IndexedVector<program::TensorId, Parts> tensors;
        for (auto const expr : inputs()) tensors.push_back({{}, {expr}});
        for (auto const at : target_.graph.ops.ids()) {
            std::vector<Parts> operands;
            for (auto const id : target_.graph.ops[at].inputs) operands.push_back(tensors[id]);
            for (int output = 0; output < program::info(target_.graph.ops[at].code).outputs; ++output)
                tensors.push_back(by_parts(at, operands, target_.shapes[tensors.next()], output));
        }
        std::vector<ExprId> out;
        for (auto const id : target_.graph.outputs)
            out.insert(out.end(), tensors[id].exprs.begin(), tensors[id].exprs.end());
        return out;
    }

private:
    /// A tensor that has one expression, or one for each part of a dimension.
    struct Parts {
        Word dimension;
        std::vector<ExprId> exprs;
    };

    [[nodiscard]] std::vector<ExprId> inputs() {
        std::vector<ExprId> out;
        for (std::size_t i = 0; i < target_.graph.inputs.size(); ++i) out.push_back(builder_.leaf(static_cast<int>(i)));
        return out;
    }
    ExprId apply(OpId at, std::vector<ExprId> const& arguments, int output) {
        auto const& op = target_.graph.ops[at];
        std::vector<program::SymbolicShape> operands;
        for (auto const id : op.inputs) operands.push_back(target_.shapes[id]);
        return program::info(op.code).expression(
            builder_, arguments, {operands, op.attributes, target_.op_sizes[at], {}, output, &target_.op_moves[at]});
    }
    Parts by_parts(OpId at, std::vector<Parts> const& operands, program::SymbolicShape const& shape, int output) {
        Parts out;
        if (is_concatenation(program::info(target_.graph.ops[at].code))) {
            out.dimension = target_.op_moves[at].back();
            for (auto const& operand : operands) out.exprs.push_back(sum_of(builder_, operand.exprs));
            return out;
        }
        auto const first = std::ranges::find_if(operands, [](Parts const& one) { return one.exprs.size() > 1; });
        auto const count = first == operands.end() ? 1 : first->exprs.size();
        if (count > 1) out.dimension = first->dimension;
        for (std::size_t p = 0; p < count; ++p) {
            std::vector<ExprId> arguments;
            for (auto const& operand : operands)
                arguments.push_back(operand.exprs.size() == count && operand.dimension == out.dimension
                                        ? operand.exprs[p]
                                        : sum_of(builder_, operand.exprs));
            out.exprs.push_back(apply(at, arguments, output));
        }
        if (std::ranges::count(shape, out.dimension) == 0) out = {{}, {sum_of(builder_, out.exprs)}};
        return out;
    }

    Target const& target_;
    program::ExpressionBuilder& builder_;
    base::IndexedVector<program::TensorId, ExprId> tensors_;
};

} // namespace

bool has_sums_of_parts(Target const& target) {
    if (target.totals.empty()) return false;
    return std::ranges::any_of(target.graph.ops, [](program::Op const& op) {
        return is_concatenation(program::info(op.code)) || adds(program::info(op.code));
    });
}

bool has_too_many_readings(Target const& target) {
    double out = 1;
    for (auto const count : part_counts(target)) out *= count + 1;
    return out > most_readings;
}

std::vector<ExprId> readings_of(Target const& target, program::ExpressionBuilder& builder) {
    Reader reader(target, builder);
    auto const parts = part_counts(target);
    std::vector<ExprId> out;
    auto const add = [&](std::vector<ExprId> const& exprs) {
        for (auto const expr : exprs)
            if (!std::ranges::count(out, expr)) out.push_back(expr);
    };
    Choice choice(parts.size(), -1);
    if (has_too_many_readings(target)) return reader.read(choice);
    do add(reader.read(choice));
    while (step(choice, parts));
    if (!parts.empty()) add(reader.read_by_parts());
    return out;
}

std::vector<ExprId> reductions_of(Target const& target, program::ExpressionBuilder& builder) {
    Reader reader(target, builder);
    static_cast<void>(reader.read(Choice(part_counts(target).size(), -1)));
    return reader.reductions();
}

} // namespace espalier::problems::mugraph
