#include "program/samples.hpp"

#include "espalier/base/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::program {
namespace {

using namespace samples;
using Part = SourceProblem::Part;
using testing::HasSubstr;

/// Z = matmul(X, W), to be spoilt.
Source product() {
    Source out;
    out.dims = {{"B", 2}, {"K", 64}, {"N", 96}};
    out.inputs = {{"X", {"B", "K"}}, {"W", {"K", "N"}}};
    out.ops = {{{"Z"}, "matmul", {"X", "W"}, {}}};
    out.outputs = {"Z"};
    return out;
}

/// The one problem that a source has.
SourceProblem only_problem(Source const& source) {
    auto const problems = check(source);
    EXPECT_EQ(problems.size(), 1u) << testing::PrintToString([&] {
        std::vector<std::string> all;
        for (auto const& problem : problems) all.push_back(problem.message);
        return all;
    }());
    return problems.empty() ? SourceProblem{} : problems.front();
}

TEST(Source, becomes_a_graph_of_library_kernels) {
    auto const graph = build(product());

    EXPECT_EQ(graph.inputs, (std::vector<Input>{{"X", {2, 64}}, {"W", {64, 96}}}));
    EXPECT_EQ(graph.ops, std::vector{op(OpCode::matmul, {0, 1})});
    EXPECT_EQ(graph.outputs, (TensorIds{2}));
    EXPECT_EQ(infer(graph)[TensorId{2}].shape, (Shape{2, 96}));
}

TEST(Source, sizes_need_not_be_powers_of_two) {
    auto source = product();
    source.dims = {{"B", 3}, {"K", 5120}, {"N", 77}};

    EXPECT_EQ(infer(build(source))[TensorId{2}].shape, (Shape{3, 77}));
}

TEST(Source, shapes_that_do_not_fit_are_shown_with_names_and_sizes) {
    auto source = product();
    source.inputs[1].dims = {"N", "K"};

    auto const problem = only_problem(source);

    EXPECT_EQ(problem.part, Part::op);
    EXPECT_EQ(problem.message, "matmul needs [.., m, k] and [.., k, n] with equal dimensions before them, or none, got "
                               "X [B, K] = [2, 64] and W [N, K] = [96, 64]");
}

TEST(Source, an_unknown_op_is_told_with_what_was_meant) {
    auto source = product();
    source.ops[0].op = "matmull";

    EXPECT_EQ(only_problem(source).message, "there is no op 'matmull': did you mean 'matmul'?");
}

TEST(Source, weights_are_inputs) {
    auto source = product();
    source.weights = {"W"};
    EXPECT_TRUE(check(source).empty());

    source.weights = {"V"};

    EXPECT_THAT(only_problem(source).message, HasSubstr("weights: V is not an input of the program"));
}

TEST(Source, accumulators_belong_to_kernels) {
    auto source = product();
    source.ops.push_back({{"S"}, "accumulate", {"Z"}, {}});
    source.outputs = {"S"};

    EXPECT_THAT(only_problem(source).message, HasSubstr("stands only in graph-defined kernels"));
}

TEST(Source, the_number_of_operands_is_checked) {
    auto source = product();
    source.ops[0].in.push_back("W");

    EXPECT_EQ(only_problem(source).message, "matmul takes 2 operands, got 3: X, W, W");
}

TEST(Source, an_unknown_tensor_is_told_once) {
    auto source = product();
    source.ops = {{{"Y"}, "exp", {"Q"}, {}}, {{"Z"}, "matmul", {"X", "W"}, {}}, {{"V"}, "add", {"Y", "Z"}, {}}};
    source.outputs = {"V"};

    EXPECT_THAT(only_problem(source).message, HasSubstr("there is no tensor 'Q'"));
}

TEST(Source, a_tensor_defined_twice_is_refused) {
    auto source = product();
    source.ops.push_back({{"X"}, "exp", {"Z"}, {}});

    EXPECT_THAT(only_problem(source).message, HasSubstr("X is defined twice"));
}

TEST(Source, sizes_are_from_one_on) {
    auto source = product();
    source.dims[1].size = 0;

    auto const problem = only_problem(source);

    EXPECT_EQ(problem.part, Part::dim);
    EXPECT_EQ(problem.index, 1u);
    EXPECT_THAT(problem.message, HasSubstr("K has size 0"));
}

TEST(Source, a_dimension_must_be_declared) {
    auto source = product();
    source.inputs[0].dims = {"b", "K"};

    EXPECT_EQ(only_problem(source).message, "there is no dimension 'b': did you mean 'B'?");
}

TEST(Source, ranks_are_limited) {
    auto source = product();
    source.inputs.push_back({"T", {"B", "B", "B", "B", "B", "B", "B"}});

    auto const problems = check(source);

    ASSERT_EQ(problems.size(), 2u);
    EXPECT_EQ(problems[0].message, "7 dimensions, but a tensor has at most 6");
    EXPECT_EQ(problems[1].message, "T is never used: remove it");
}

TEST(Source, eight_symbols_are_enough) {
    auto source = product();
    for (auto const* name : {"P", "Q", "R", "S", "T"}) source.dims.push_back({name, 3});
    EXPECT_TRUE(check(source).empty());

    source.dims.push_back({"U", 1});
    EXPECT_TRUE(check(source).empty()) << "a dimension of size 1 is not a symbol";

    source.dims.push_back({"V", 5});
    EXPECT_THAT(only_problem(source).message, HasSubstr("at most 8 of size over 1"));
}

TEST(Source, attributes_are_those_of_the_op) {
    auto source = product();
    source.ops[0].attributes = Attributes::axis(1);

    EXPECT_EQ(only_problem(source).message, "matmul has no attribute `axis`: remove it");
}

TEST(Source, an_axis_is_one_whole_number_that_the_tensor_has) {
    auto source = product();
    source.ops.push_back({{"S"}, "sum", {"Z"}, Attributes().with(AttributeName::axis, std::vector<double>{0.5})});
    source.outputs = {"S"};
    EXPECT_EQ(only_problem(source).message, "`axis` is 0.5: give a whole number");

    source.ops[1].attributes = Attributes::axis(2);
    EXPECT_EQ(only_problem(source).message, "sum needs a tensor that has `axis`, got Z [B, N] = [2, 96]");
}

TEST(Source, what_is_not_used_is_refused) {
    auto source = product();
    source.inputs.push_back({"V", {"N"}});
    source.ops.push_back({{"Y"}, "exp", {"X"}, {}});

    auto const problems = check(source);

    ASSERT_EQ(problems.size(), 2u);
    EXPECT_EQ(problems[0].message, "V is never used: remove it");
    EXPECT_EQ(problems[1].message, "Y is never used: remove it or output it");
}

TEST(Source, outputs_are_tensors_that_ops_make) {
    auto source = product();
    source.outputs = {"Z", "X", "Q", "Z"};

    auto const problems = check(source);

    ASSERT_EQ(problems.size(), 3u);
    EXPECT_THAT(problems[0].message, HasSubstr("X is an input"));
    EXPECT_THAT(problems[1].message, HasSubstr("there is no tensor 'Q'"));
    EXPECT_THAT(problems[2].message, HasSubstr("Z is output twice"));
}

TEST(Source, an_empty_program_is_refused) {
    auto const problems = check({});

    ASSERT_EQ(problems.size(), 2u);
    EXPECT_THAT(problems[0].message, HasSubstr("without ops"));
    EXPECT_THAT(problems[1].message, HasSubstr("without outputs"));
}

TEST(Source, equal_sizes_with_different_names_are_an_accident) {
    auto source = product();
    source.dims = {{"B", 2}, {"K", 64}, {"J", 64}, {"N", 96}};
    source.inputs[1].dims = {"J", "N"};

    EXPECT_THAT(only_problem(source).message, HasSubstr("fits only because different dimensions have one size"));
    EXPECT_THROW((void)symbolic_shapes(source), base::InputError);
}

TEST(Source, tensors_too_large_to_count_are_refused) {
    auto source = product();
    source.inputs[0].dims = {"2000000000", "2000000000", "2000000000"};

    auto const problems = check(source);

    ASSERT_FALSE(problems.empty());
    EXPECT_THAT(problems[0].message, HasSubstr("too many elements"));
}

TEST(Source, all_problems_come_in_one_error) {
    auto source = product();
    source.dims[0].size = -1;
    source.ops[0].op = "mat";
    source.outputs.push_back("Y");

    try {
        (void)build(source);
        FAIL() << "it was built";
    } catch (base::InputError const& error) {
        EXPECT_THAT(error.what(), HasSubstr("dims.B: B has size -1"));
        EXPECT_THAT(error.what(), HasSubstr("ops[0] (mat): there is no op 'mat'"));
        EXPECT_THAT(error.what(), HasSubstr("outputs[1]: there is no tensor 'Y'"));
    }
}

TEST(Source, other_names_of_ops_are_known) {
    auto source = product();
    source.ops = {{{"A"}, "rmsnorm", {"X"}, {}}, {{"Y"}, "layernorm", {"A"}, {}}, {{"Z"}, "matmul", {"Y", "W"}, {}}};

    auto const graph = build(source);

    EXPECT_EQ(graph.ops[OpId{0}].code, OpCode::rms_norm);
    EXPECT_EQ(graph.ops[OpId{1}].code, OpCode::layer_norm);
}

TEST(Source, a_softmax_subtracts_the_maximum) {
    auto source = product();
    source.ops = {{{"Y"}, "softmax", {"X"}, Attributes::axis(0)}, {{"Z"}, "matmul", {"Y", "W"}, {}}};

    auto const graph = build(source);

    EXPECT_EQ(graph.ops, (std::vector{op(OpCode::max, {0}, Attributes::axis(0)), op(OpCode::sub, {0, 2}),
                                      op(OpCode::exp, {3}), op(OpCode::sum, {4}, Attributes::axis(0)),
                                      op(OpCode::div, {4, 5}), op(OpCode::matmul, {6, 1})}));
    EXPECT_EQ(symbolic_shapes(source).size(), 8u);
}

TEST(Source, an_unsafe_softmax_is_three_ops) {
    auto source = product();
    source.ops = {{{"Y"}, "unsafe_softmax", {"X"}, Attributes::axis(0)}, {{"Z"}, "matmul", {"Y", "W"}, {}}};

    EXPECT_EQ(build(source).ops, (std::vector{op(OpCode::exp, {0}), op(OpCode::sum, {2}, Attributes::axis(0)),
                                              op(OpCode::div, {2, 3}), op(OpCode::matmul, {4, 1})}));
}

Attributes number(AttributeName name, double value) { return Attributes().with(name, std::vector{value}); }

/// The ops that one op with X in it becomes, before the product.
std::vector<Op> ops_of(std::string const& name, std::vector<std::string> const& in, Attributes const& attributes = {}) {
    auto source = product();
    source.ops = {{{"Y"}, name, in, attributes}, {{"Z"}, "add", {"Y", "X"}, {}}};
    source.inputs.pop_back();
    auto const graph = build(source);
    return {graph.ops.begin(), graph.ops.end() - 1};
}

TEST(Source, a_number_may_be_an_operand) {
    auto const scaled = [](double by) { return op(OpCode::scale, {0}, number(AttributeName::by, by)); };
    auto const shifted = [](int of, double by) { return op(OpCode::shift, {of}, number(AttributeName::by, by)); };

    EXPECT_EQ(ops_of("mul", {"X", "0.125"}), std::vector{scaled(0.125)});
    EXPECT_EQ(ops_of("mul", {"-2", "X"}), std::vector{scaled(-2)});
    EXPECT_EQ(ops_of("add", {"1e-6", "X"}), std::vector{shifted(0, 1e-6)});
    EXPECT_EQ(ops_of("sub", {"X", "3"}), std::vector{shifted(0, -3)});
    EXPECT_EQ(ops_of("sub", {"3", "X"}), (std::vector{scaled(-1), shifted(1, 3)}));
    EXPECT_EQ(ops_of("div", {"X", "3"}), std::vector{op(OpCode::scale, {0}, number(AttributeName::over, 3))});
    EXPECT_EQ(ops_of("div", {"1", "X"}),
              (std::vector{op(OpCode::reciprocal, {0}), op(OpCode::scale, {1}, number(AttributeName::by, 1))}));
    EXPECT_EQ(ops_of("max", {"X", "0"}), std::vector{op(OpCode::clamp, {0}, number(AttributeName::low, 0))});
    EXPECT_EQ(ops_of("pow", {"X", "-0.5"}), (std::vector{op(OpCode::sqrt, {0}), op(OpCode::reciprocal, {1})}));
}

TEST(Source, a_number_that_cannot_be_an_operand_is_refused) {
    for (auto const& [name, in] :
         std::vector<std::pair<std::string, std::vector<std::string>>>{{"pow", {"X", "3"}},
                                                                       {"pow", {"2", "X"}},
                                                                       {"div", {"X", "0"}},
                                                                       {"add", {"1", "2"}},
                                                                       {"matmul", {"X", "2"}}}) {
        auto source = product();
        source.ops = {{{"Y"}, name, in, {}}, {{"Z"}, "matmul", {"X", "W"}, {}}};
        source.outputs = {"Y", "Z"};
        EXPECT_NE(only_problem(source).message.find("cannot be taken"), std::string::npos) << name;
    }
}

TEST(Source, a_mean_is_a_sum_over_its_count) {
    EXPECT_EQ(ops_of("mean", {"X"}, Attributes::axis(-1)),
              (std::vector{op(OpCode::sum, {0}, Attributes::axis(-1)),
                           op(OpCode::scale, {1}, number(AttributeName::over, 64))}));
    EXPECT_EQ(ops_of("sum", {"X"}, Attributes().with(AttributeName::axis, {0, 1})),
              (std::vector{op(OpCode::sum, {0}, Attributes::axis(0)), op(OpCode::sum, {1}, Attributes::axis(1))}));
}

TEST(Source, a_transpose_is_made_where_it_is_needed) {
    auto source = product();
    source.inputs[1].dims = {"N", "K"};
    source.ops = {{{"T"}, "transpose", {"W"}, {}}, {{"Z"}, "matmul", {"X", "T"}, {}}};
    EXPECT_EQ(build(source).ops, std::vector{op(OpCode::matmul_nt, {0, 1})});

    source.outputs = {"Z", "T"};
    EXPECT_EQ(build(source).ops, (std::vector{op(OpCode::matmul_nt, {0, 1}), op(OpCode::transpose, {1})}));
}

TEST(Symbols, are_names_then_literal_sizes_without_ones) {
    auto source = product();
    source.dims.push_back({"One", 1});
    source.inputs[0].dims = {"7", "K"};
    source.inputs.push_back({"V", {"1", "7"}});

    auto const symbols = symbols_of(source);

    EXPECT_EQ(symbols.names, (std::vector<std::string>{"B", "K", "N", "7"}));
    EXPECT_EQ(symbols.sizes, (std::vector<std::int64_t>{2, 64, 96, 7}));
}

TEST(Symbols, give_the_shapes_of_all_tensors) {
    auto const shapes = symbolic_shapes(product());

    auto const b = Word::symbol(0), k = Word::symbol(1), n = Word::symbol(2);
    EXPECT_EQ(shapes, (SymbolicShapes{{b, k}, {k, n}, {b, n}}));
}

TEST(Symbols, the_size_left_by_a_partial_sum_is_one) {
    auto source = product();
    source.ops.push_back({{"S"}, "sum_to", {"Z"}, Attributes::axis(-1).with(AttributeName::size, 32)});
    source.outputs = {"S"};

    EXPECT_EQ(symbols_of(source).names.back(), "32");
    EXPECT_EQ(symbolic_shapes(source).back(), (SymbolicShape{Word::symbol(0), Word::symbol(3)}));
}

TEST(Symbols, agree_with_the_numbers_in_all_builtins) {
    for (auto const& builtin : builtins()) {
        auto const source = source_of(builtin.name);
        auto sizes = symbols_of(source).sizes;
        sizes.resize(Word::max_symbols, 1);
        auto const symbolic = symbolic_shapes(source);
        auto const numeric = infer(build(source));

        ASSERT_EQ(symbolic.size(), numeric.size()) << builtin.name;
        for (auto const t : numeric.ids()) {
            Shape shape;
            for (auto const& word : symbolic[t]) shape.push(word.value(sizes));
            EXPECT_EQ(shape, numeric[t].shape) << builtin.name << " tensor " << t.value;
        }
    }
}

} // namespace
} // namespace espalier::program
