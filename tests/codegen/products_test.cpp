#include "espalier/codegen/cpu_numbers.hpp"

#include "support/compiled.hpp"
#include "support/doubles.hpp"
#include "support/packages.hpp"

#include "espalier/codegen/program_text.hpp"
#include "espalier/program/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

namespace espalier::codegen {
namespace {

using program::Graph;
using program::OpCode;
using program::Shape;
using programs::GraphBuilder;

/// Sizes of a [batch, rows, inner] times [batch, inner, columns].
struct Sizes {
    std::int64_t batch, rows, inner, columns;
    program::DType dtype = program::DType::f32;
};
/// Blocks of columns and of rows, steps of the inner dimension; last tiles may be smaller.
struct Parts {
    std::int64_t columns, steps, rows = 1;
};
Graph blocked(Sizes const& n, OpCode op, Parts const& parts) {
    auto const is_nt = op == OpCode::matmul_nt;
    auto const last = is_nt ? 1 : 2, inner = is_nt ? 2 : 1;
    program::Schedule schedule{.grid = {parts.columns, parts.rows, 1}, .loop = parts.steps, .output = {2, 1, -1}};
    Shape const left{n.batch, n.rows, n.inner};
    auto const right = is_nt ? Shape{n.batch, n.columns, n.inner} : Shape{n.batch, n.inner, n.columns};
    schedule.inputs = {with_tails({{-1, 1, -1}, 2}, left, schedule),
                       with_tails({{last, -1, -1}, inner}, right, schedule)};
    GraphBuilder kernel, block(schedule);
    auto const x = kernel.input(left, "X"), w = kernel.input(right, "W");
    auto const a = block.input(tile_shape(left, schedule.inputs[0], schedule));
    auto const b = block.input(tile_shape(right, schedule.inputs[1], schedule));
    auto const sum = block.op(OpCode::accumulate, {block.op(op, {a, b})});
    return packages::stored_as(kernel.build({kernel.graph(block.build({sum}), {x, w})}), n.dtype);
}

/// Small integers, so that every order of summation is exact.
std::vector<doubles::Tensor> integers(Graph const& graph) {
    std::vector<doubles::Tensor> out;
    for (auto const& input : graph.inputs) {
        auto& values = out.emplace_back(input.shape).values;
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>((i * 7 + i / 5) % 5) - 2;
    }
    return out;
}

std::vector<Graph> all_shapes() {
    std::vector<Graph> out;
    for (auto const op : {OpCode::matmul, OpCode::matmul_nt})
        for (auto const& [sizes, parts] :
             std::vector<std::pair<Sizes, Parts>>{{{1, 2, 24, 64}, {1, 2}},
                                                  {{1, 1, 12, 96}, {2, 3}},
                                                  {{2, 5, 8, 72}, {3, 1}},
                                                  {{1, 17, 10, 50}, {1, 2}},
                                                  {{2, 40, 12, 44}, {2, 2}},
                                                  {{1, 61, 30, 200}, {2, 5}},
                                                  {{1, 61, 31, 211}, {3, 4, 2}},
                                                  {{2, 7, 13, 101}, {4, 3, 2}},
                                                  {{1, 3, 64, 67}, {2, 5}},
                                                  {{1, 17, 30, 100, program::DType::f64}, {2, 3}},
                                                  {{2, 3, 8, 33, program::DType::f64}, {1, 1}}})
            out.push_back(blocked(sizes, op, parts));
    return out;
}

TEST(Products, of_two_terms_are_two_products_and_a_sum) {
    program::Schedule schedule{.grid = {2, 1, 1}, .loop = 2, .output = {1, -1, -1}};
    schedule.inputs = {{{-1, -1, -1}, 1}, {{-1, -1, -1}, 1}, {{1, -1, -1}, 0}, {{1, -1, -1}, 0}};
    GraphBuilder kernel, block(schedule);
    std::vector<Shape> const shapes{{5, 12}, {5, 8}, {12, 64}, {8, 64}};
    std::vector<int> outside, inside;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        outside.push_back(kernel.input(shapes[i]));
        inside.push_back(block.input(tile_shape(shapes[i], schedule.inputs[i], schedule)));
    }
    auto const sum = block.op(OpCode::accumulate, {block.op(OpCode::concat_matmul, inside)});
    auto graph = kernel.build({kernel.graph(block.build({sum}), outside)});
    graph.dtype = graph.bodies[0].dtype = program::DType::f32;
    CpuShape const cpu = this_cpu();
    compiled::Library const library({graph}, "-std=c++17 -O1 -fopenmp -march=native", cpu);
    auto const inputs = integers(graph);

    auto const found = library.run(0, inputs);

    EXPECT_EQ(found[0], doubles::Interpreter(graph).run(inputs)[0].values);
    EXPECT_EQ(std::ranges::count_if(make_plan(graph, cpu).kernels[0].in_loop,
                                    [](Step const& step) { return step.product.rows > 0; }),
              2);
}

TEST(Products, are_exact_on_integers_for_every_shape_and_width_of_vectors) {
    auto const graphs = all_shapes();
    for (auto const& [cpu, flags] :
         std::vector<std::pair<CpuShape, std::string>>{{{.lanes = 16, .vectors = 32}, "-march=native"},
                                                       {{.lanes = 8, .vectors = 16}, "-mavx2 -mfma"},
                                                       {{.lanes = 4, .vectors = 16}, ""}}) {
        compiled::Library const library(graphs, "-std=c++17 -O1 -fopenmp " + flags, cpu);
        for (std::size_t i = 0; i < graphs.size(); ++i) {
            auto const inputs = integers(graphs[i]);
            auto const plan = make_plan(graphs[i], cpu);
            ASSERT_GT(plan.kernels[0].in_loop[0].product.rows, 0) << program::to_text(graphs[i]);

            auto const found = library.run(i, inputs);

            EXPECT_EQ(found[0], doubles::Interpreter(graphs[i]).run(inputs)[0].values) << program::to_text(graphs[i]);
        }
    }
}

/// One library product of operands of these shapes.
Graph library_product(OpCode op, std::vector<Shape> const& shapes) {
    GraphBuilder kernel;
    std::vector<int> operands;
    for (auto const& shape : shapes) operands.push_back(kernel.input(shape));
    return packages::stored_as(kernel.build({kernel.op(op, operands)}), program::DType::f32);
}

TEST(Products, of_library_ops_that_broadcast_or_have_many_dimensions_or_two_terms_run_in_registers) {
    std::vector<Graph> const inputs{library_product(OpCode::matmul, {{6, 5, 24}, {24, 40}}),
                                    library_product(OpCode::matmul, {{5, 24}, {3, 24, 40}}),
                                    library_product(OpCode::matmul, {{2, 2, 3, 5, 24}, {2, 2, 3, 24, 40}}),
                                    library_product(OpCode::matmul_nt, {{2, 3, 5, 24}, {2, 3, 40, 24}}),
                                    library_product(OpCode::concat_matmul, {{5, 12}, {5, 8}, {12, 64}, {8, 64}})};
    std::vector<Graph> graphs;
    for (auto const& input : inputs) graphs.push_back(for_cpu(input, {.shape = this_cpu()}));
    compiled::Library const library(graphs, "-std=c++17 -O1 -fopenmp -march=native", this_cpu());

    for (std::size_t i = 0; i < graphs.size(); ++i) {
        auto const values = integers(inputs[i]);
        auto const plan = make_plan(graphs[i], this_cpu());

        auto const found = library.run(i, values);

        EXPECT_EQ(found[0], doubles::Interpreter(inputs[i]).run(values)[0].values) << program::to_text(graphs[i]);
        EXPECT_TRUE(std::ranges::any_of(plan.kernels[0].in_loop, [](Step const& step) {
            return step.product.rows > 0;
        })) << program::to_text(graphs[i]);
    }
}

/// The plan with W in panels as wide as the product takes them.
Plan with_panels(Graph const& graph, CpuShape const& cpu) {
    auto const columns = make_plan(graph, cpu).kernels[0].in_loop[0].product.columns;
    return make_plan(graph, cpu, {0, columns});
}

TEST(Products, of_panels_are_exact_for_every_block_of_rows) {
    std::vector<Graph> graphs;
    for (auto const rows : {1, 2, 3, 4, 5, 7, 8, 9, 13, 14, 16, 17, 26, 27, 40})
        for (auto const inner : {24, 140}) // fewer rows than are fetched ahead, and more
            graphs.push_back(blocked({1, rows, inner, 192}, OpCode::matmul, {1, 2}));
    graphs.push_back(blocked({1, 9, 140, 200}, OpCode::matmul, {1, 2, 2})); // the last panel is filled up
    graphs.push_back(blocked({1, 27, 31, 209}, OpCode::matmul, {1, 2, 2})); // the last tiles are smaller, too
    graphs.push_back(blocked({1, 17, 140, 100, program::DType::f64}, OpCode::matmul, {1, 2}));
    std::set<std::pair<std::int64_t, std::int64_t>> shapes;
    for (auto const& [cpu, flags] : std::vector<std::pair<CpuShape, std::string>>{
             {{.lanes = 16, .vectors = 32}, "-march=native"}, {{.lanes = 8, .vectors = 16}, "-mavx2 -mfma"}}) {
        compiled::Library const library(
            graphs, "-std=c++17 -O1 -fopenmp " + flags, "",
            [&](Graph const& graph, std::string const& name) { return cpu_source(with_panels(graph, cpu), name); });
        for (std::size_t i = 0; i < graphs.size(); ++i) {
            auto const inputs = integers(graphs[i]);
            auto const plan = with_panels(graphs[i], cpu);
            ASSERT_GT(plan.buffers[1].panel, 0);
            shapes.emplace(plan.kernels[0].in_loop[0].product.rows, plan.kernels[0].in_loop[0].product.columns);

            auto const found = library.run(i, inputs);

            EXPECT_EQ(found[0], doubles::Interpreter(graphs[i]).run(inputs)[0].values) << program::to_text(graphs[i]);
        }
    }
    EXPECT_GE(shapes.size(), 12u);
}

TEST(Products, pack_rows_only_where_they_are_far_apart) {
    CpuShape const cpu{.lanes = 16, .vectors = 32};
    auto const packs = [&](std::int64_t inner, int steps) {
        return make_plan(blocked({1, 64, inner, 64}, OpCode::matmul, {1, steps}), cpu)
            .kernels[0]
            .in_loop[0]
            .product.packs_left;
    };

    EXPECT_FALSE(packs(512, 2));
    EXPECT_TRUE(packs(4096, 16));
}

} // namespace
} // namespace espalier::codegen
