#include "emulated_graph.hpp"

#include "support/doubles.hpp"
#include "support/random_programs.hpp"

#include <gtest/gtest.h>

/// Programs as a machine of fewer bits computes them: values that were worked out by hand, and a plain interpreter.
namespace espalier::verify::emulated {
namespace {

using program::DType;
using program::Graph;
using program::OpCode;
using program::Shape;
using programs::GraphBuilder;
using programs::Schedule;
using enum OpCode;

using Given = std::vector<std::vector<double>>; ///< elements of each input

std::vector<Box> everything(Graph const& graph) {
    auto const infos = infer(graph);
    std::vector<Box> out;
    for (auto const id : graph.outputs) out.push_back(whole(infos[id].shape).dims);
    return out;
}

struct Outcome {
    Numbers output;
    double largest_magnitude = 0;
    bool overflows = false;
};
Outcome run(Graph const& graph, DType dtype, Given const& given) {
    Arithmetic arithmetic(dtype);
    auto const input = [&](int number, std::uint64_t index) { return given[static_cast<std::size_t>(number)][index]; };
    auto const found = evaluate(graph, input, everything(graph), arithmetic);
    return {found[0], arithmetic.largest_magnitude(), arithmetic.overflows()};
}

/// A row of values, summed in one library kernel.
Graph sum_of(std::int64_t count) {
    GraphBuilder kernel;
    return kernel.build({kernel.op(sum, {kernel.input({1, count})})});
}
/// The same in a loop of so many steps.
Graph looped_sum_of(std::int64_t count, std::int64_t steps) {
    GraphBuilder block(Schedule{.loop = steps, .inputs = {{{-1, -1, -1}, 1}}});
    block.op(accumulate_sum, {block.input({1, count / steps})});
    GraphBuilder kernel;
    auto const x = kernel.input({1, count});
    return kernel.build({kernel.graph(block.build({1}), {x})});
}

TEST(Emulated, sums_are_made_in_f32_from_the_first_to_the_last) {
    auto const large = 16777216.0; // 2^24: after it, f32 has only even numbers

    EXPECT_EQ(run(sum_of(3), DType::f32, {{large, 1, 1}}).output[0].low, large);
    EXPECT_EQ(run(sum_of(3), DType::f32, {{1, 1, large}}).output[0].low, large + 2);
    EXPECT_EQ(run(sum_of(3), DType::f32, {{large, 1, 1}}).output[0].exact, large + 2);
    EXPECT_EQ(run(sum_of(5), DType::f16, {{2048, 1, 1, 1, 1}}).output[0].low, 2052); // f16 alone would stay at 2048
}

/// 2^24, 1, 1, 1: in one step every 1 is lost; in two steps the second gives 2, which is not; in four it is lost again.
TEST(Emulated, the_sum_of_a_step_is_added_to_the_sum_so_far) {
    Given const row{{16777216, 1, 1, 1}};

    EXPECT_EQ(run(looped_sum_of(4, 1), DType::f32, row).output[0].low, 16777216);
    EXPECT_EQ(run(looped_sum_of(4, 2), DType::f32, row).output[0].low, 16777218);
    EXPECT_EQ(run(looped_sum_of(4, 4), DType::f32, row).output[0].low, 16777216);
    EXPECT_EQ(run(looped_sum_of(4, 2), DType::f32, row).output[0].exact, 16777219);
}

/// Three tiles of 2051, each of which f16 rounds to 2052; 6153 in one piece is 6152.
TEST(Emulated, results_of_an_op_in_a_loop_are_stored_in_every_step) {
    GraphBuilder kernel, looped;
    auto const x = kernel.input({1, 6}), w = kernel.input({6, 1});
    auto const in_one_piece = kernel.build({kernel.op(matmul, {x, w})});
    GraphBuilder block(Schedule{.loop = 3, .inputs = {{{-1, -1, -1}, 1}, {{-1, -1, -1}, 0}}});
    block.input({1, 2}), block.input({2, 1});
    auto const body = block.build({block.op(accumulate, {block.op(matmul, {0, 1})})});
    looped.input({1, 6}), looped.input({6, 1});
    auto const in_a_loop = looped.build({looped.graph(body, {0, 1})});
    Given const given{{2048, 3, 2048, 3, 2048, 3}, {1, 1, 1, 1, 1, 1}};

    EXPECT_EQ(run(in_one_piece, DType::f16, given).output[0].low, 6152);
    EXPECT_EQ(run(in_a_loop, DType::f16, given).output[0].low, 6156);
    EXPECT_EQ(run(in_a_loop, DType::f16, given).output[0].exact, 6153);
    EXPECT_EQ(run(in_a_loop, DType::f32, given).output[0].low, 6153);
}

TEST(Emulated, stored_values_may_overflow_and_sums_inside_an_op_do_not) {
    GraphBuilder kernel;
    auto const x = kernel.input({1, 1});
    auto const stored = kernel.build({kernel.op(sub, {kernel.op(add, {x, x}), x})});

    auto const in_f16 = run(stored, DType::f16, {{60000}}), in_bf16 = run(stored, DType::bf16, {{60000}});
    auto const summed = run(sum_of(3), DType::f16, {{60000, 60000, -60000}});

    EXPECT_TRUE(in_f16.overflows);
    EXPECT_EQ(in_f16.largest_magnitude, 120000);
    EXPECT_EQ(in_f16.output[0].exact, 60000);
    EXPECT_FALSE(in_bf16.overflows);
    EXPECT_FALSE(summed.overflows);
    EXPECT_EQ(summed.output[0].low, 60000);
    EXPECT_EQ(summed.largest_magnitude, 60000);
}

/// (1e-4)^2 is 0.168 of the least number of f16.
TEST(Emulated, a_quotient_by_a_value_that_became_zero_is_not_finite) {
    GraphBuilder kernel;
    auto const x = kernel.input({1, 1});
    auto const graph = kernel.build({kernel.op(OpCode::div, {x, kernel.op(square, {x})})});

    EXPECT_TRUE(run(graph, DType::f16, {{1e-4}}).overflows);
    EXPECT_FALSE(run(graph, DType::bf16, {{1e-4}}).overflows);
}

/// The mean square of 300, 400 is 125000, which f16 does not have; it stays inside the op.
TEST(Emulated, a_norm_is_one_op) {
    GraphBuilder kernel;
    auto const graph = kernel.build({kernel.op(rms_norm, {kernel.input({1, 2})})});

    auto const found = run(graph, DType::f16, {{300, 400}});

    EXPECT_FALSE(found.overflows);
    EXPECT_EQ(found.output[0].low, 869 / 1024.0);  // 0.848528..
    EXPECT_EQ(found.output[1].low, 1159 / 1024.0); // 1.131370.., of which f16 has every 1/1024
}

double some_input(int number, std::uint64_t index) {
    auto const n = (static_cast<std::uint64_t>(number) * 7919 + index) * 0x9E3779B97F4A7C15ull >> 52;
    return (static_cast<double>(n) + 1) / 2048 * (n % 3 == 0 ? -1 : 1); // f32 has it
}
doubles::Tensors tensors_of(Graph const& program) {
    doubles::Tensors out;
    for (auto const& input : program.inputs) {
        auto& values = out.emplace_back(input.shape).values;
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = some_input(static_cast<int>(out.size()) - 1, i);
    }
    return out;
}

TEST(Emulated, random_programs_have_the_values_of_a_plain_interpreter) {
    programs::RandomPrograms random(base::Seed{6});
    std::size_t compared = 0;
    for (int n = 0; n < 500; ++n) {
        auto const program = random.next();
        Arithmetic arithmetic(DType::f32);

        auto const found = evaluate(program, some_input, everything(program), arithmetic);
        auto const wanted = doubles::Interpreter(program).run(tensors_of(program));

        for (std::size_t i = 0; i < wanted.size(); ++i)
            for (std::size_t k = 0; k < wanted[i].values.size(); ++k) {
                if (!std::isfinite(wanted[i].values[k]) || std::abs(wanted[i].values[k]) > 1e9) continue;
                ASSERT_TRUE(doubles::is_replaced_by(wanted[i].values[k], found[i][k].exact))
                    << "program " << n << ": " << wanted[i].values[k] << ", " << found[i][k].exact;
                ++compared;
            }
    }
    EXPECT_GT(compared, 5000u);
}

TEST(Emulated, demanded_elements_are_those_of_the_whole) {
    auto const program = programs::fused_rms_linear({2, 12, 10}, {5, 3});
    Arithmetic arithmetic(DType::f16);
    auto const all = evaluate(program, some_input, everything(program), arithmetic)[0];

    auto const some = evaluate(program, some_input, {{{1}, {2, 4, 9}}}, arithmetic)[0];

    ASSERT_EQ(some.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
        auto const& wanted = all[10 + std::array{2u, 4u, 9u}[i]];
        EXPECT_EQ(some[i].exact, wanted.exact);
        EXPECT_EQ(some[i].low, wanted.low);
    }
}

/// 1000 values are drawn and 1000 are added.
TEST(Emulated, work_is_counted_without_computing) {
    std::vector<Box> const one{{{0}, {0}}};

    auto const work = work_of(sum_of(1000), one, 1e6);

    ASSERT_TRUE(work);
    EXPECT_GE(*work, 2000);
    EXPECT_LE(*work, 2200);
    EXPECT_FALSE(work_of(sum_of(1000), one, 1999));
    EXPECT_FALSE(work_of(sum_of(std::int64_t{1} << 31), one, 1e6)); // a list of its indices would be 16 GiB
}

/// In a block 2 of 10 columns, 3 steps of 4: every element costs its own row and column.
TEST(Emulated, work_in_loops_is_counted_step_by_step) {
    auto const program = programs::fused_rms_linear({2, 12, 10}, {5, 3});
    auto const one = work_of(program, {{{1}, {3}}}, 1e6), all = work_of(program, everything(program), 1e6);

    ASSERT_TRUE(one && all);
    EXPECT_GT(*one, 12 + 12 + 12 + 12); // x twice, w, products and squares
    EXPECT_GT(*all, 5 * *one);
}

} // namespace
} // namespace espalier::verify::emulated
