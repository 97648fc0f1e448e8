#include "espalier/codegen/gpu_text.hpp"

#include "support/packages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace espalier::codegen {
namespace {

using program::DType;
using program::Graph;
using program::OpCode;
using testing::ElementsAre;

GpuPlan plan_of(Graph const& graph, DType dtype, std::int64_t staging_bytes = 48 << 10) {
    return gpu_plan(make_plan(packages::stored_as(graph, dtype)), {.staging_bytes = staging_bytes});
}
/// How many elements each copy to local memory moves at once.
std::vector<std::int64_t> vectors(GpuPlan const& plan) {
    std::vector<std::int64_t> out;
    for (auto const& mapping : plan.kernels[0].mappings)
        if (mapping.vector > 0) out.push_back(mapping.vector);
    return out;
}
std::vector<Fetch> fetches(GpuPlan const& plan) {
    std::vector<Fetch> out;
    for (auto const& mapping : plan.kernels[0].mappings)
        if (mapping.vector > 0) out.push_back(mapping.fetch);
    return out;
}
std::int64_t barriers_in_loop(GpuKernel const& kernel) {
    std::int64_t out = 0;
    for (std::size_t i = 0; i < kernel.kernel.in_loop.size(); ++i)
        out += kernel.mappings[i].has_barrier_before + kernel.mappings[i].has_barrier_inside;
    return out;
}

TEST(GpuStaging, copies_sixteen_bytes_at_once_where_rows_of_tiles_allow_it) {
    auto const wide = programs::fused_gated_mlp({4, 64, 128}, {2, 2}); // tiles [4, 32], [32, 64], [32, 64]

    EXPECT_THAT(vectors(plan_of(wide, DType::f16)), ElementsAre(8, 8, 8));
    EXPECT_THAT(vectors(plan_of(wide, DType::f32)), ElementsAre(4, 4, 4));
    EXPECT_THAT(vectors(plan_of(wide, DType::f64)), ElementsAre(2, 2, 2));
}

TEST(GpuStaging, copies_as_much_at_once_as_rows_and_origins_are_multiples_of) {
    // Rows of X are 36 elements and its tiles 12; those of W are 20 and 10.
    auto const graph = programs::fused_gated_mlp({4, 36, 20}, {2, 3});

    EXPECT_THAT(vectors(plan_of(graph, DType::f16)), ElementsAre(4, 2, 2));
    EXPECT_THAT(vectors(plan_of(graph, DType::f32)), ElementsAre(4, 2, 2));
    EXPECT_THAT(vectors(plan_of(programs::fused_gated_mlp({4, 9, 15}, {3, 3}), DType::f16)), ElementsAre(1, 1, 1));
}

TEST(GpuStaging, keeps_operands_in_the_dtype_that_they_are_stored_in) {
    auto const graph = programs::fused_gated_mlp({4, 64, 128}, {2, 2});
    auto const in_f16 = plan_of(graph, DType::f16), in_f32 = plan_of(graph, DType::f32);

    // Two buffers for 32 rows of 2 x 64 columns and 4 x 32 of X, and two sums of 4 x 64. Those of tensor cores are in
    // registers until the operands, whose rows have 8 elements between them, are no longer needed.
    EXPECT_EQ(in_f32.local_bytes(), 2 * 4 * (2 * 32 * 64 + 4 * 32) + 4 * 2 * 4 * 64);
    EXPECT_EQ(in_f16.local_bytes(), 2 * 2 * (2 * 32 * (64 + 8) + 4 * (32 + 8)));
}

TEST(GpuStaging, has_two_buffers_for_what_a_loop_reads_if_all_of_it_fits) {
    auto const graph = programs::fused_gated_mlp({4, 64, 128}, {2, 2});
    // In turn, the tile of the second matrix is where that of the first one was. In bytes of f32:
    auto const one = 4 * (32 * 64 + 4 * 32 + 2 * 4 * 64);

    auto const ahead = plan_of(graph, DType::f32), in_turn = plan_of(graph, DType::f32, one),
               not_at_all = plan_of(graph, DType::f32, 4 * 2 * 4 * 64);

    EXPECT_THAT(fetches(ahead), testing::Each(Fetch::ahead));
    EXPECT_EQ(barriers_in_loop(ahead.kernels[0]), 1) << "one is enough for what was read and what is there";
    EXPECT_THAT(fetches(in_turn), ElementsAre(Fetch::in_turn, Fetch::in_turn, Fetch::in_turn));
    EXPECT_EQ(in_turn.local_bytes(), one);
    EXPECT_THAT(fetches(not_at_all), testing::IsEmpty());
}

TEST(GpuStaging, fetches_what_is_the_same_at_every_step_once) {
    program::Schedule schedule{.grid = {2, 1, 1}, .loop = 3, .output = {1, -1, -1}};
    schedule.inputs = {{{-1, -1, -1}, -1}, {{1, -1, -1}, 1}};
    programs::GraphBuilder block(schedule), kernel;
    auto const a = block.input({4, 8}), b = block.input({8, 6});
    auto const body = block.build({block.op(OpCode::accumulate, {block.op(OpCode::matmul, {a, b})})});
    auto const x = kernel.input({4, 8}), w = kernel.input({8, 36});
    auto const graph = kernel.build({kernel.graph(body, {x, w})});

    auto const plan = plan_of(graph, DType::f32);
    auto const text = gpu_kernels(plan, "k");

    EXPECT_THAT(fetches(plan), testing::UnorderedElementsAre(Fetch::once, Fetch::ahead));
    auto const loop = text.find("for (int s"), of_x = text.find("tile of in0");
    EXPECT_LT(of_x, loop);
    EXPECT_EQ(text.find("tile of in0", loop), text.npos);
    EXPECT_NE(text.find("tile of in1", loop), text.npos);
}

} // namespace
} // namespace espalier::codegen
