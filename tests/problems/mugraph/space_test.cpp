#include "espalier/problems/mugraph/space.hpp"

#include "espalier/base/key_error.hpp"
#include "programs.hpp"

#include <gmock/gmock.h>

#include <algorithm>

/// What the presets hold for a program, and where their limits are.
namespace espalier::problems::mugraph {
namespace {

using program::AttributeName;
using program::Attributes;
using program::OpCode;
using testing::ElementsAre;

/// X [B, K] through one op.
MugraphConfig one_op(program::SourceOp const& op, std::vector<std::string> const& dims = {"B", "K"}) {
    MugraphConfig config;
    config.program.dims = {{"B", 4}, {"H", 6}, {"K", 8}};
    config.program.inputs = {{"X", dims}};
    config.program.ops = {op};
    config.program.outputs = {op.out[0]};
    return config;
}
SearchOp const* find(std::vector<SearchOp> const& ops, OpCode code) {
    auto const at = std::ranges::find(ops, code, &SearchOp::code);
    return at == ops.end() ? nullptr : &*at;
}

// The numbers are those of Mirage's configuration.
TEST(MiragePreset, has_its_tiles_loops_and_limits) {
    auto const space = make_space(mirage("rmsnorm_linear", {2, 4096, 6144}));
    auto const attention = make_space(mirage("gqa", {2, 16, 1, 16, 1024, 64}));

    EXPECT_THAT(space.tiles, ElementsAre(8, 16, 32, 64, 128, 256));
    EXPECT_THAT(space.loops, ElementsAre(4, 16, 64));
    EXPECT_THAT(attention.batch_tiles, ElementsAre(8, 64, 128, 256));
    EXPECT_EQ(space.max_kernel_ops, 5);
    EXPECT_EQ(space.max_block_ops, 9);
    EXPECT_EQ(space.graph_kernels, 1);
    EXPECT_EQ(attention.graph_kernels, 2);
    EXPECT_EQ(space.grids, GridRule::mirage);
    EXPECT_EQ(attention.grids, GridRule::mirage_attention);
    EXPECT_TRUE(space.counts_inputs && space.needs_accumulators && !space.has_liveness);
}

TEST(FullPreset, grids_have_two_dimensions_from_rank_three_on) {
    EXPECT_EQ(make_space(one_op({{"Y"}, "relu", {"X"}, {}})).grid_dims, 1);
    EXPECT_EQ(make_space(one_op({{"Y"}, "relu", {"X"}, {}}, {"B", "H", "K"})).grid_dims, 2);
}

TEST(FullPreset, two_kernels_are_for_exponentials_of_rank_three) {
    EXPECT_EQ(make_space(one_op({{"Y"}, "exp", {"X"}, {}}, {"B", "H", "K"})).graph_kernels, 2);
    EXPECT_EQ(make_space(one_op({{"Y"}, "relu", {"X"}, {}}, {"B", "H", "K"})).graph_kernels, 1);
    EXPECT_EQ(make_space(one_op({{"Y"}, "exp", {"X"}, {}})).graph_kernels, 1);
}

TEST(FullPreset, has_the_clamps_of_the_program_and_no_others) {
    auto const bounds =
        Attributes().with(AttributeName::low, std::vector<double>{0}).with(AttributeName::high, std::vector<double>{6});
    auto const with = make_space(one_op({{"Y"}, "clamp", {"X"}, bounds}));
    auto const without = make_space(one_op({{"Y"}, "relu", {"X"}, {}}));

    for (auto const* ops : {&with.kernel_ops, &with.block_ops}) {
        ASSERT_NE(find(*ops, OpCode::clamp), nullptr);
        EXPECT_EQ(find(*ops, OpCode::clamp)->attributes, bounds);
    }
    EXPECT_EQ(find(without.block_ops, OpCode::clamp), nullptr);
}

/// Axis 1 of three is the last but one, as axis -2 is.
TEST(FullPreset, has_norms_along_the_axes_of_the_program) {
    for (std::int64_t const axis : {1, -2}) {
        auto const space = make_space(one_op({{"Y"}, "rmsnorm", {"X"}, Attributes::axis(axis)}, {"B", "H", "K"}));

        EXPECT_TRUE(std::ranges::count(space.block_ops, SearchOp{OpCode::rms_norm, Attributes::axis(-2), {}})) << axis;
    }
}

TEST(Schedules, are_best_by_themselves_but_all_as_mirage_has_them) {
    using enum SpaceConfig::Schedules;
    EXPECT_TRUE(make_space(two_kernels(automatic)).keeps_best_schedule);
    EXPECT_TRUE(make_space(two_kernels(best)).keeps_best_schedule);
    EXPECT_FALSE(make_space(two_kernels(all)).keeps_best_schedule);
    EXPECT_FALSE(make_space(full("rmsnorm_linear", {2, 64, 64})).keeps_best_schedule);
    EXPECT_TRUE(make_space(experiment("rmsnorm_linear", {2, 64, 64}, SpaceConfig::Preset::full)).keeps_best_schedule);
    EXPECT_FALSE(make_space(mirage("gqa", {2, 16, 1, 16, 1024, 64})).keeps_best_schedule);
}

/// Ops at kernel level, and a begin, its ops and an end for each graph-defined kernel: 40 and no more.
TEST(SpaceLimits, as_many_steps_as_there_is_room_for) {
    auto config = full("rmsnorm_linear", {2, 64, 64});
    config.space.max_kernel_ops = 8;
    config.space.max_block_ops = 30;
    EXPECT_EQ(make_space(config).max_block_ops, 30);
    ++config.space.max_block_ops;
    EXPECT_THROW((void)make_space(config), base::KeyError);
}

TEST(SpaceLimits, as_many_inputs_as_there_is_room_for) {
    auto config = one_op({{"Y"}, "relu", {"X"}, {}});
    auto& inputs = config.program.inputs;
    while (std::ssize(inputs) < max_tensors - 1) inputs.push_back({"X" + std::to_string(inputs.size()), {"B", "K"}});
    for (std::size_t i = 1; i < inputs.size(); ++i) // all are read
        config.program.ops.push_back(
            {{"Y" + std::to_string(i)}, "add", {i == 1 ? "Y" : "Y" + std::to_string(i - 1), inputs[i].name}, {}});
    config.program.outputs = {"Y" + std::to_string(inputs.size() - 1)};
    EXPECT_NO_THROW((void)make_space(config));

    inputs.push_back({"Z", {"B", "K"}});
    config.program.ops.push_back({{"O"}, "add", {config.program.outputs[0], "Z"}, {}});
    config.program.outputs = {"O"};
    EXPECT_THROW((void)make_space(config), base::KeyError);
}

} // namespace
} // namespace espalier::problems::mugraph
