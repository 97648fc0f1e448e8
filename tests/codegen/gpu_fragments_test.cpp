#include "espalier/codegen/gpu_text.hpp"

#include "espalier/base/rng.hpp"

#include "support/gpu_shim.hpp"
#include "support/packages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::codegen {
namespace {

using program::DType;
using program::Graph;
using program::OpCode;
using program::Shape;

/// A product of [.., m, k] and [.., k, n] in one block, whose loop has two steps along k.
struct Product {
    std::int64_t m, n, k;
    std::int64_t matrices = 1; ///< more than one: a dimension more
    OpCode code = OpCode::matmul;
    DType dtype = DType::f16;
};
Shape with_matrices(Product const& of, std::int64_t rows, std::int64_t columns) {
    return of.matrices > 1 ? Shape{of.matrices, rows, columns} : Shape{rows, columns};
}
Graph product(Product const& of) {
    auto const is_nt = of.code == OpCode::matmul_nt;
    auto const right = [&](std::int64_t k) { return is_nt ? with_matrices(of, of.n, k) : with_matrices(of, k, of.n); };
    auto const last = of.matrices > 1 ? 2 : 1;
    program::Schedule schedule{.grid = {1, 1, 1}, .loop = 2, .output = {-1, -1, -1}};
    schedule.inputs = {{{-1, -1, -1}, last}, {{-1, -1, -1}, is_nt ? last : last - 1}};
    programs::GraphBuilder block(schedule), kernel;
    auto const a = block.input(with_matrices(of, of.m, of.k / 2)), b = block.input(right(of.k / 2));
    auto const body = block.build({block.op(OpCode::accumulate, {block.op(of.code, {a, b})})});
    auto const x = kernel.input(with_matrices(of, of.m, of.k), "X"), w = kernel.input(right(of.k), "W");
    return packages::stored_as(kernel.build({kernel.graph(body, {x, w})}), of.dtype);
}
GpuPlan plan_of(Graph const& graph, int threads = 128) { return gpu_plan(make_plan(graph), {.threads = threads}); }
Mapping mapping_of(Product const& of, int threads = 128) {
    auto const plan = plan_of(product(of), threads);
    for (auto const& mapping : plan.kernels[0].mappings)
        if (mapping.fragments.rows > 0) return mapping;
    return {};
}

/// Whole numbers: every sum is exact, in whatever order, and so is what is stored of it.
doubles::Tensors whole_numbers(Graph const& graph, base::Rng& rng) {
    doubles::Tensors out;
    for (auto const& input : graph.inputs)
        for (auto& value : out.emplace_back(input.shape).values) value = static_cast<double>(rng.below(5)) - 2;
    return out;
}

/// Turned and not, with all numbers of fragments a warp, in parts and not, few rows that are padded, several matrices,
/// factors along and across rows.
std::vector<Product> const products{{16, 8, 32},
                                    {32, 64, 64},
                                    {64, 32, 32},
                                    {16, 24, 64, 3},
                                    {16, 40, 32, 1, OpCode::matmul_nt},
                                    {8, 16, 64},
                                    {8, 64, 32, 1, OpCode::matmul_nt, DType::bf16},
                                    {3, 32, 256},
                                    {2, 16, 128, 2},
                                    {24, 48, 32},
                                    {5, 80, 64, 1, OpCode::matmul, DType::bf16},
                                    {48, 16, 96, 1, OpCode::matmul, DType::bf16}};

void expect_exact(std::string const& preamble, int threads) {
    std::vector<Graph> graphs;
    for (auto const& one : products) graphs.push_back(product(one));
    int barriers = 0;
    compiled::Library const library(graphs, "-std=c++20 -O0 -pthread", preamble,
                                    [&](Graph const& graph, std::string const& name) {
                                        return gpu_shim::source(plan_of(graph, threads), name, barriers);
                                    });
    base::Rng rng(base::Seed{4});
    for (std::size_t i = 0; i < graphs.size(); ++i) {
        auto const inputs = whole_numbers(graphs[i], rng);
        auto const wanted = doubles::Interpreter(graphs[i]).run(inputs).front().values;

        EXPECT_EQ(library.run(i, inputs).front(), wanted) << "product " << i << "\n"
                                                          << gpu_kernels(plan_of(graphs[i], threads), "k");
    }
}

TEST(GpuFragments, computed_by_each_lane_are_products) {
    for (auto const threads : {32, 128}) expect_exact(std::string(gpu_shim::preamble) + gpu_shim::halves, threads);
}

TEST(GpuFragments, computed_by_the_instruction_of_tensor_cores_are_products) {
    for (auto const threads : {32, 128})
        expect_exact(std::string(gpu_shim::preamble) + gpu_shim::halves + gpu_shim::tensor_cores(), threads);
}

/// All of the products above are made of fragments: what was computed is what is looked at.
TEST(GpuFragments, are_for_products_in_half_precision_of_whole_fragments) {
    auto const uses = [](Product const& of, int threads = 128) { return mapping_of(of, threads).fragments.rows > 0; };
    for (auto const& one : products) EXPECT_TRUE(uses(one));

    EXPECT_FALSE(uses({32, 64, 64, 1, OpCode::matmul, DType::f32}));
    EXPECT_FALSE(uses({32, 64, 48})) << "24 at each step";
    EXPECT_FALSE(uses({12, 64, 64})) << "12 rows are neither few nor whole fragments";
    EXPECT_FALSE(uses({4, 24, 64})) << "nor are 24 columns, as the rows of turned ones";
    EXPECT_FALSE(uses({32, 64, 64}, 16)) << "half a warp";
}

TEST(GpuFragments, are_shared_among_warps_and_sums_too_where_there_are_few) {
    auto const many = mapping_of({64, 64, 32}), few = mapping_of({4, 32, 256}), one = mapping_of({8, 16, 64});

    EXPECT_EQ(many.fragments.count(), 8) << "each warp has one item of 8 fragments";
    EXPECT_EQ(many.items, 4);
    EXPECT_EQ(many.split, 1);
    EXPECT_TRUE(few.fragments.is_turned);
    EXPECT_EQ(few.items, 2);
    EXPECT_EQ(few.split, 2);
    EXPECT_EQ(one.items, 1);
    EXPECT_EQ(one.split, 2) << "a step has two pieces of the sum only";
}

/// Parts of sums are put together after the loop, so that a step needs no barrier but the one for its operands.
TEST(GpuFragments, keep_their_sums_through_the_loop) {
    for (auto const& one : {Product{4, 32, 256}, Product{64, 64, 32}}) {
        auto const plan = plan_of(product(one));
        auto const& kernel = plan.kernels[0];
        int barriers = 0;
        for (std::size_t i = 0; i < kernel.kernel.in_loop.size(); ++i)
            barriers += kernel.mappings[i].has_barrier_before + kernel.mappings[i].has_barrier_inside;

        EXPECT_TRUE(kernel.kernel.in_loop.back().keeps_sums);
        EXPECT_TRUE(kernel.kernel.after.front().ends_sums);
        EXPECT_EQ(barriers, 1);
    }
    auto const large = plan_of(product({128, 128, 32}));
    EXPECT_FALSE(large.kernels[0].kernel.in_loop.back().keeps_sums) << "128 registers of a thread are too many";
}

/// Those that the instruction has: every result is made by one lane.
TEST(GpuFragments, give_every_result_to_one_lane) {
    Fragments const fragments{2, 4};
    std::vector<int> times(32 * 32);
    for (std::int64_t lane = 0; lane < Fragments::lanes; ++lane)
        for (std::int64_t q = 0; q < fragments.count() * Fragments::of_lane; ++q)
            ++times[static_cast<std::size_t>(fragments.row(q, lane) * 32 + fragments.column(q, lane))];

    EXPECT_THAT(times, testing::Each(1));
}

} // namespace
} // namespace espalier::codegen
