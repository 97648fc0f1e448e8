#include "parts.hpp"

#include "espalier/program/meaning.hpp"

#include <gtest/gtest.h>

/// Rows that the table does not have: an op of three operands and one of two outputs, which the search enumerates,
/// evaluates by what they mean and finds the program with.
namespace espalier::problems::mugraph {
namespace {

using program::ExprId;
using program::Meaning;
using program::OpCode;
using program::OpInfo;
using program::RuleInput;
using program::Shape;
using program::Word;

/// The sum and the difference of its operands.
OpInfo butterfly() {
    auto out = program::info(OpCode::add);
    out.name = "butterfly";
    out.outputs = 2;
    out.is_commutative = false;
    out.expression = [](program::ExpressionBuilder& e, std::span<ExprId const> a, RuleInput<Word> const& in) {
        return program::info(in.output == 0 ? OpCode::add : OpCode::sub).expression(e, a, in);
    };
    out.meaning = [](OpInfo const&, RuleInput<std::int64_t> const& in, Shape const& shape) {
        auto const& row = program::info(in.output == 0 ? OpCode::add : OpCode::sub);
        return row.meaning(row, in, shape);
    };
    return out;
}

Meaning sum_with_product(OpInfo const&, RuleInput<std::int64_t> const& in, Shape const& shape) {
    using Kind = program::ScalarNode::Kind;
    program::Nest nest{.kept = shape};
    for (std::size_t i = 0; i < in.shapes.size(); ++i) {
        program::Read read{.source = i, .shape = in.shapes[i]};
        for (int d = 0; d < shape.rank(); ++d) {
            program::Position at;
            at.digits.push({.loop = static_cast<std::size_t>(d), .size = shape[d]});
            read.index.push(at);
        }
        nest.reads.push(read);
    }
    nest.body = {{.kind = Kind::read, .read = 0},
                 {.kind = Kind::read, .read = 1},
                 {.kind = Kind::apply, .op = OpCode::mul, .a = 0, .b = 1},
                 {.kind = Kind::read, .read = 2},
                 {.kind = Kind::apply, .op = OpCode::add, .a = 2, .b = 3}};
    return {{nest}};
}
/// a b + c.
OpInfo multiply_add() {
    auto out = program::info(OpCode::add);
    out.name = "multiply_add";
    out.inputs = 3;
    out.is_commutative = false;
    out.expression = [](program::ExpressionBuilder& e, std::span<ExprId const> a, RuleInput<Word> const&) {
        return e.add(e.mul(a[0], a[1]), a[2]);
    };
    out.meaning = sum_with_product;
    return out;
}

MugraphConfig program_of_ops(std::vector<program::SourceOp> ops, std::vector<std::string> const& inputs) {
    MugraphConfig config;
    config.program.dims = {{"B", 4}, {"K", 8}};
    for (auto const& name : inputs) config.program.inputs.push_back({name, {"B", "K"}});
    config.program.outputs = {ops.back().out.front()};
    config.program.ops = std::move(ops);
    config.space.max_kernel_ops = 2;
    config.space.max_graph_kernels = 1;
    return config;
}

/// The nodes of the kernel level that are complete and right, of all that the search makes.
std::vector<Node> found_by(Parts& parts) {
    std::vector<Node> found, stack{Node{}};
    while (!stack.empty()) {
        auto const node = stack.back();
        stack.pop_back();
        if (node.begins > 0) continue;
        parts.replay.run(node);
        auto const& state = parts.replay.kernel();
        auto const& newest = state.context->values[state.tensors[state.tensors.count - 1]];
        if (state.ops > 0 && state.tensors.unconsumed() == 1 && newest.print == state.context->targets[0])
            found.push_back(node);
        search::Children<Node> children(stack);
        parts.enumeration.expand(node, parts.replay, children);
    }
    return found;
}

TEST(MadeUpRows, an_op_of_two_outputs_is_read_twice_by_what_follows) {
    // (A + B) (A - B)
    Parts parts(program_of_ops(
        {{{"S"}, "add", {"A", "B"}, {}}, {{"D"}, "sub", {"A", "B"}, {}}, {{"Y"}, "mul", {"S", "D"}, {}}}, {"A", "B"}));
    auto const row = butterfly();
    parts.setup.space.kernel_ops = {{row, {}, {}}, {OpCode::mul, {}, {}}};

    auto const found = found_by(parts);

    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].path()[0], (Step{Step::Kind::kernel_op, 0, 2, {0, 1, 0, 0}}));
    EXPECT_EQ(found[0].path()[1], (Step{Step::Kind::kernel_op, 1, 2, {2, 3, 0, 0}}));
    parts.replay.run(path_of({found[0].path()[0]}));
    EXPECT_EQ(parts.replay.kernel().tensors.count, 4);
    EXPECT_EQ(parts.replay.kernel().tensors.unconsumed(), 2);
}

TEST(MadeUpRows, the_outputs_of_one_op_are_those_of_two) {
    auto config = program_of_ops({{{"S"}, "add", {"A", "B"}, {}}, {{"Y"}, "sub", {"S", "B"}, {}}}, {"A", "B"});
    config.prune = Prune::none;
    Parts parts(config);
    auto const row = butterfly();
    parts.setup.space.kernel_ops = {{row, {}, {}}, {OpCode::add, {}, {}}, {OpCode::sub, {}, {}}};
    parts.replay.run(Node{});
    auto const& state = parts.replay.kernel();
    auto const& values = state.context->values;
    auto const made = [&](std::uint8_t op) {
        return parts.values.of(Parts::step(Step::Kind::kernel_op, op, {0, 1}), state).first();
    };

    auto const both = made(0);

    EXPECT_EQ(values[both].tiles, values[made(1)].tiles);
    EXPECT_EQ(values[ValueId{both.value + 1}].tiles, values[made(2)].tiles);
    EXPECT_NE(values[both].content, values[ValueId{both.value + 1}].content);
}

TEST(MadeUpRows, an_op_of_three_operands_replaces_two) {
    Parts parts(program_of_ops({{{"P"}, "mul", {"A", "B"}, {}}, {{"Y"}, "add", {"P", "C"}, {}}}, {"A", "B", "C"}));
    auto const row = multiply_add();
    parts.setup.space.kernel_ops = {{row, {}, {}}};

    auto const found = found_by(parts);

    ASSERT_EQ(found.size(), 2u) << "A B + C and B A + C";
    for (auto const& node : found) {
        EXPECT_EQ(node.count, 1);
        EXPECT_EQ(node.path()[0].in[2], 2);
    }
}

} // namespace
} // namespace espalier::problems::mugraph
