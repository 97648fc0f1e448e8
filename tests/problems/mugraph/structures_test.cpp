#include "first_found.hpp"
#include "path.hpp"
#include "programs.hpp"

#include "espalier/cost/roofline.hpp"
#include "espalier/problems/mugraph/space.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

/// What only the full space has: each structure, on a program that needs it.
namespace espalier::problems::mugraph {
namespace {

using program::Graph;
using program::OpCode;

MugraphConfig experiment(program::Source source) {
    MugraphConfig config;
    config.program = std::move(source);
    return config;
}

double input_cost(MugraphConfig const& config) {
    return cost::estimate(program::build(config.program), config.hardware).us;
}
/// The cheapest program, which must be there and trusted.
Graph cheapest(toys::Walk const& walk) {
    auto const best = std::ranges::min_element(walk.results, {}, &search::ResultRecord::cost);
    if (best == walk.results.end()) return {};
    EXPECT_TRUE(best->verification == search::Verification::proved || best->error_bound < 1e-15) << best->text;
    return program::parse_text(best->text, "result");
}
/// The cheapest that is one kernel: a library kernel may be cheaper.
Graph fused(toys::Walk walk) {
    std::erase_if(walk.results, [](auto const& record) {
        auto const graph = program::parse_text(record.text, "result");
        return program::kernel_count(graph) != 1 || program::graph_kernel_count(graph) != 1;
    });
    return cheapest(walk);
}
bool is_one_kernel(Graph const& graph) {
    return program::kernel_count(graph) == 1 && program::graph_kernel_count(graph) == 1;
}

/// X W + R.
program::Source residual_linear(std::int64_t rows, std::int64_t inner, std::int64_t columns) {
    return {.dims = {{"B", rows}, {"K", inner}, {"N", columns}},
            .inputs = {{"X", {"B", "K"}}, {"W", {"K", "N"}}, {"R", {"B", "N"}}},
            .ops = {{{"P"}, "matmul", {"X", "W"}, {}}, {{"Y"}, "add", {"P", "R"}, {}}},
            .outputs = {"Y"}};
}

TEST(Epilogue, a_residual_is_added_after_the_loop) {
    auto const config = experiment(residual_linear(16, 4096, 4096));

    auto const best = cheapest(search(config));

    ASSERT_TRUE(is_one_kernel(best));
    EXPECT_GT(best.bodies[0].schedule.loop, 1);
    auto const& ops = program::inline_thread_graphs(best).bodies[0].ops;
    EXPECT_EQ(ops.back().code, OpCode::add);
    EXPECT_EQ(std::ranges::count(ops, OpCode::accumulate, &program::Op::code), 1);
    EXPECT_LT(cost::estimate(best, config.hardware).us, input_cost(config));
}

TEST(Epilogue, a_bias_and_an_activation_follow_a_long_loop) {
    program::Source const source{
        .dims = {{"B", 8}, {"K", 28'672}, {"N", 1024}},
        .inputs = {{"X", {"B", "K"}}, {"W", {"K", "N"}}, {"b", {"1", "N"}}},
        .ops = {{{"P"}, "matmul", {"X", "W"}, {}}, {{"Q"}, "add", {"P", "b"}, {}}, {{"Y"}, "gelu", {"Q"}, {}}},
        .outputs = {"Y"}};

    auto const best = fused(search(experiment(source)));

    ASSERT_TRUE(is_one_kernel(best));
    EXPECT_GT(best.bodies[0].schedule.loop, 1);
}

TEST(Epilogue, the_space_of_mirage_has_none) {
    auto config = experiment(residual_linear(16, 4096, 4096));
    config.space.from = SpaceConfig::Preset::mirage;

    for (auto const& graph : programs_of(search(config)))
        for (auto const& body : graph.bodies) {
            auto const tensors = program::infer(body);
            auto const is_read_after = [&](program::Op const& op) {
                auto const has = [&](program::LoopSide side) {
                    return std::ranges::any_of(op.inputs, [&](auto id) { return tensors[id].side == side; });
                };
                return has(program::LoopSide::invariant) && has(program::LoopSide::after_loop);
            };
            EXPECT_FALSE(std::ranges::any_of(body.ops, is_read_after)) << program::to_text(graph);
        }
}

/// S = X + R and rms_norm(S), both of which are wanted.
program::Source residual_norm(std::int64_t rows, std::int64_t columns) {
    return {.dims = {{"B", rows}, {"K", columns}},
            .inputs = {{"X", {"B", "K"}}, {"R", {"B", "K"}}},
            .ops = {{{"S"}, "add", {"X", "R"}, {}}, {{"Y"}, "rmsnorm", {"S"}, {}}},
            .outputs = {"S", "Y"}};
}

TEST(StoredAndRead, a_residual_sum_and_its_norm_are_one_kernel) {
    auto const config = experiment(residual_norm(256, 4096));

    auto const best = cheapest(search(config));

    ASSERT_TRUE(is_one_kernel(best));
    EXPECT_EQ(best.bodies[0].outputs.size(), 2u);
    EXPECT_LT(cost::estimate(best, config.hardware).us, input_cost(config));
}

TEST(StoredAndRead, an_output_of_one_kernel_is_read_by_the_next) {
    auto config = experiment(residual_norm(4, 64));
    config.space.max_outputs = 1; // of a graph-defined kernel

    auto const found = programs_of(search(config));

    ASSERT_FALSE(found.empty());
    for (auto const& graph : found) EXPECT_GT(program::kernel_count(graph), 1);
}

TEST(SingleBlock, the_norm_of_one_row_is_one_kernel) {
    program::Source const source{.dims = {{"K", 4096}},
                                 .inputs = {{"X", {"1", "K"}}, {"G", {"1", "K"}}},
                                 .ops = {{{"N"}, "layernorm", {"X"}, {}}, {{"Y"}, "mul", {"N", "G"}, {}}},
                                 .outputs = {"Y"}};
    auto const config = experiment(source);

    auto const best = fused(search(config));

    ASSERT_TRUE(is_one_kernel(best));
    EXPECT_EQ(best.bodies[0].schedule.grid, (std::array<std::int64_t, 3>{1, 1, 1}));
}

/// Rows of X as the left factor, all of it as the right one.
TEST(TakenTwice, a_matrix_on_both_sides_of_products_has_two_kinds_of_tiles) {
    program::Source const source{.dims = {{"N", 256}, {"M", 64}},
                                 .inputs = {{"X", {"N", "N"}}, {"W", {"N", "M"}}},
                                 .ops = {{{"P"}, "matmul", {"X", "X"}, {}}, {{"Y"}, "matmul", {"P", "W"}, {}}},
                                 .outputs = {"Y"}};

    auto config = experiment(source);
    config.space.max_kernel_ops = 1;
    config.space.max_block_ops = 5;

    auto const found = programs_of(search(config));

    auto const takes_x_twice = [](Graph const& graph) {
        auto const is_twice = [](program::Op const& op) {
            return op.code == OpCode::graph && std::ranges::count(op.inputs, program::TensorId{0}) == 2;
        };
        return std::ranges::any_of(graph.ops, is_twice);
    };
    EXPECT_TRUE(
        std::ranges::any_of(found, [&](Graph const& graph) { return is_one_kernel(graph) && takes_x_twice(graph); }));
}

TEST(TakenTwice, is_offered_where_it_can_help) {
    EXPECT_EQ(make_space(full("gated_mlp", {8, 4096, 4096})).taken_twice, 0u);
    EXPECT_EQ(make_space(full("rmsnorm_linear", {2, 4096, 4096})).taken_twice, 0u);
    EXPECT_EQ(make_space(full("rmsnorm_linear", {1, 4096, 4096})).taken_twice, 1u);
}

/// A norm and a sum along the first of two dimensions.
TEST(OtherAxes, are_reduced_where_the_program_does) {
    auto const first = program::Attributes::axis(0);
    program::Source const source{
        .dims = {{"K", 512}, {"N", 1024}},
        .inputs = {{"X", {"K", "N"}}, {"G", {"K", "N"}}},
        .ops = {{{"N_"}, "rmsnorm", {"X"}, first}, {{"P"}, "mul", {"N_", "G"}, {}}, {{"Y"}, "sum", {"P"}, first}},
        .outputs = {"Y"}};

    auto const best = cheapest(search(experiment(source)));

    ASSERT_TRUE(is_one_kernel(best));
    EXPECT_EQ(best.bodies[0].schedule.output[0], 1);
}

/// ((((((X W) + A) B) + C) D) + E): seven inputs.
TEST(ManyOperands, seven_inputs_are_one_kernel) {
    program::Source source{.dims = {{"B", 8}, {"K", 512}, {"N", 512}},
                           .inputs = {{"X", {"B", "K"}}, {"W", {"K", "N"}}}};
    source.ops = {{{"T0"}, "matmul", {"X", "W"}, {}}};
    for (int i = 0; i < 5; ++i) {
        source.inputs.push_back({fmt::format("A{}", i), {"B", "N"}});
        source.ops.push_back({{fmt::format("T{}", i + 1)},
                              i % 2 == 0 ? "add" : "mul",
                              {fmt::format("T{}", i), fmt::format("A{}", i)},
                              {}});
    }
    source.outputs = {"T5"};
    auto config = experiment(source);
    config.space.max_kernel_ops = 1;
    config.space.max_block_ops = 7;

    auto const best = cheapest(search(config));

    EXPECT_TRUE(is_one_kernel(best));
}

TEST(ThreeKernels, each_op_of_a_chain_has_its_own) {
    program::Source const source{
        .dims = {{"B", 4}, {"K", 6}},
        .inputs = {{"X", {"B", "K"}}},
        .ops = {{{"R"}, "relu", {"X"}, {}}, {{"S"}, "silu", {"R"}, {}}, {{"Y"}, "gelu", {"S"}, {}}},
        .outputs = {"Y"}};
    auto config = experiment(source);
    config.space.max_graph_kernels = 3;
    config.space.max_kernel_ops = 3;
    config.space.max_block_ops = 1;
    config.space.schedules = SpaceConfig::Schedules::best;

    auto const found = programs_of(search(config));

    EXPECT_TRUE(std::ranges::any_of(found, [](Graph const& graph) { return program::graph_kernel_count(graph) == 3; }));
}

TEST(Library, a_norm_may_stay_a_kernel_of_its_own) {
    auto const found = programs_of(search(full("rmsnorm_linear", {4, 48, 40})));

    EXPECT_TRUE(std::ranges::any_of(found, [](Graph const& graph) {
        return std::ranges::count(graph.ops, OpCode::rms_norm, &program::Op::code) == 1;
    }));
}

/// One op after the other, each on the newest tensor and, if it takes two, on one of the inputs.
void add_chain(program::Source& source, std::vector<std::string> const& ops, std::string const& other) {
    for (auto const& op : ops) {
        auto const newest = source.ops.empty() ? source.inputs[0].name : source.ops.back().out[0];
        auto const is_binary = op == "add" || op == "mul" || op == "matmul";
        auto const in = is_binary ? std::vector{newest, other} : std::vector{newest};
        source.ops.push_back({{fmt::format("t{}_", source.ops.size())}, op, in, {}});
    }
    source.outputs = {source.ops.back().out[0]};
}

/// The roots beside that of the search, with their programs at full size not asked for.
std::vector<Node> fused_roots(program::Source const& source) {
    auto roots = Mugraph(experiment(source), {}, 1).roots();
    roots.erase(roots.begin());
    return roots;
}

TEST(FusedInOrder, twelve_pointwise_ops_are_one_kernel) {
    program::Source source{.dims = {{"B", 512}, {"N", 1024}}, .inputs = {{"X", {"B", "N"}}, {"A", {"1", "N"}}}};
    add_chain(source, {"add", "silu", "mul", "relu", "gelu", "add", "silu", "mul", "gelu", "relu", "add", "silu"}, "A");

    auto const roots = fused_roots(source);

    ASSERT_EQ(roots.size(), 1u);
    EXPECT_EQ(roots[0].begins, 1);
    EXPECT_EQ(launches(roots[0]), 1);
}

TEST(FusedInOrder, two_products_and_what_is_around_them_are_few_kernels) {
    program::Source source{.dims = {{"B", 16}, {"K", 1024}, {"H", 1024}, {"N", 1024}},
                           .inputs = {{"X", {"B", "K"}},
                                      {"G", {"1", "K"}},
                                      {"W", {"K", "H"}},
                                      {"b", {"1", "H"}},
                                      {"V", {"H", "N"}},
                                      {"c", {"1", "N"}}}};
    add_chain(source, {"rmsnorm", "mul", "silu"}, "G");
    add_chain(source, {"matmul"}, "W");
    add_chain(source, {"add", "gelu", "mul", "relu", "silu", "mul", "gelu", "relu"}, "b");
    add_chain(source, {"matmul"}, "V");
    add_chain(source, {"add", "gelu", "mul", "relu", "silu", "mul", "gelu", "relu", "silu", "gelu", "relu"}, "c");

    auto const roots = fused_roots(source);

    ASSERT_EQ(roots.size(), 1u);
    EXPECT_LE(launches(roots[0]), 4);
}

TEST(FusedInOrder, a_program_that_fits_into_a_kernel_is_one) {
    auto const roots = fused_roots(residual_linear(8, 4096, 4096));

    ASSERT_EQ(roots.size(), 1u);
    EXPECT_EQ(launches(roots[0]), 1);
}

/// SwiGLU and its down projection: in one kernel every block would need all of the first two products.
TEST(FusedInOrder, three_products_are_two_kernels) {
    program::Source const source{.dims = {{"B", 6}, {"K", 1000}, {"H", 3000}},
                                 .inputs = {{"X", {"B", "K"}}, {"G", {"K", "H"}}, {"U", {"K", "H"}}, {"D", {"H", "K"}}},
                                 .ops = {{{"g"}, "matmul", {"X", "G"}, {}},
                                         {{"s"}, "silu", {"g"}, {}},
                                         {{"u"}, "matmul", {"X", "U"}, {}},
                                         {{"h"}, "mul", {"u", "s"}, {}},
                                         {{"y"}, "matmul", {"h", "D"}, {}}},
                                 .outputs = {"y"}};

    auto const roots = fused_roots(source);

    ASSERT_EQ(roots.size(), 1u);
    EXPECT_EQ(launches(roots[0]), 2);
}

/// Rows are divided by their norms, of which a grid that splits the rows' own dimension makes only a part.
TEST(FusedInOrder, no_kernel_sums_only_a_part) {
    program::Source const source{.dims = {{"A", 64}, {"B", 96}, {"K", 1000}},
                                 .inputs = {{"X", {"A", "K"}}, {"Y", {"B", "K"}}},
                                 .ops = {{{"a"}, "square", {"X"}, {}},
                                         {{"b"}, "sum", {"a"}, program::Attributes::axis(-1)},
                                         {{"c"}, "sqrt", {"b"}, {}},
                                         {{"d"}, "div", {"X", "c"}, {}},
                                         {{"e"}, "square", {"Y"}, {}},
                                         {{"f"}, "sum", {"e"}, program::Attributes::axis(-1)},
                                         {{"g"}, "sqrt", {"f"}, {}},
                                         {{"h"}, "div", {"Y", "g"}, {}},
                                         {{"z"}, "matmul_nt", {"d", "h"}, {}}},
                                 .outputs = {"z"}};
    MugraphConfig const config = experiment(source);

    EXPECT_EQ(fused_roots(source).size(), 1u);
    EXPECT_TRUE(FirstFound(config).run([](Graph const& graph) { return program::kernel_count(graph) < 9; }));
}

TEST(InLoop, rows_are_normalised_by_sums_of_the_program) {
    program::Source const source{.dims = {{"Q", 64}, {"D", 60}, {"K", 3000}},
                                 .inputs = {{"P", {"Q", "K"}}, {"V", {"K", "D"}}},
                                 .ops = {{{"d"}, "square", {"V"}, {}},
                                         {{"e"}, "sum", {"d"}, program::Attributes::axis(-1)},
                                         {{"f"}, "sqrt", {"e"}, {}},
                                         {{"w"}, "div", {"V", "f"}, {}},
                                         {{"o"}, "matmul", {"P", "w"}, {}}},
                                 .outputs = {"o"}};

    EXPECT_TRUE(FirstFound(experiment(source)).run(is_looped_kernel));
}

TEST(StoredAndRead, a_program_of_one_output_has_no_such_tensors) {
    EXPECT_FALSE(make_space(experiment(residual_linear(4, 8, 8))).has_read_outputs);
    EXPECT_TRUE(make_space(experiment(residual_norm(4, 8))).has_read_outputs);
    auto config = experiment(residual_norm(4, 8));
    config.space.from = SpaceConfig::Preset::mirage;
    EXPECT_FALSE(make_space(config).has_read_outputs);
}

} // namespace
} // namespace espalier::problems::mugraph
