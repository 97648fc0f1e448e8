#include "experiments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::config::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string with_space(std::string const& space) { return with_problem("program: {builtin: lora}, space: " + space); }
SpaceConfig space(std::string const& text, std::vector<std::string> const& sets = {}) {
    return mugraph(parse(with_space(text), sets)).space;
}

TEST(SpaceConfig, a_preset_is_a_word) {
    EXPECT_EQ(space("full"), SpaceConfig{});
    EXPECT_EQ(space("mirage"), (SpaceConfig{.from = SpaceConfig::Preset::mirage}));
    EXPECT_EQ(space("{}"), SpaceConfig{});
    EXPECT_THAT(errors_of(with_space("mirag")),
                HasSubstr("'problem.space' must be one of full, mirage or a map of keys, not 'mirag'; did you mean "
                          "'mirage'?"));
}

TEST(SpaceConfig, a_map_says_how_it_differs) {
    auto const read = space("{from: mirage, setting: attention, max_kernel_ops: 5, max_block_ops: 9, "
                            "max_graph_kernels: 1, max_outputs: 2, count_inputs: false, loops: [4, 16, 64], "
                            "tiles: [8, 16], blocks: {min: 32, max: 4096}, grid_dims: 1, shared_memory: 96KiB, "
                            "threads: 128, liveness: true, kernel_ops: [matmul, exp], block_ops: [accumulate], "
                            "schedules: best}");

    SpaceConfig const expected{.from = SpaceConfig::Preset::mirage,
                               .setting = SpaceConfig::Setting::attention,
                               .max_kernel_ops = 5,
                               .max_block_ops = 9,
                               .max_graph_kernels = 1,
                               .max_outputs = 2,
                               .count_inputs = false,
                               .loops = {4, 16, 64},
                               .tiles = {8, 16},
                               .min_blocks = 32,
                               .max_blocks = 4096,
                               .grid_dims = 1,
                               .shared_memory_bytes = 96 * 1024,
                               .threads = 128,
                               .liveness = true,
                               .kernel_ops = {program::OpCode::matmul, program::OpCode::exp},
                               .block_ops = {program::OpCode::accumulate},
                               .schedules = SpaceConfig::Schedules::best};
    EXPECT_EQ(read, expected);
}

TEST(SpaceConfig, auto_leaves_a_key_to_the_preset) {
    EXPECT_EQ(space("{max_kernel_ops: auto, loops: auto, blocks: {min: auto}, shared_memory: auto, liveness: auto, "
                    "block_ops: auto, max_loop: auto}"),
              SpaceConfig{});
}

TEST(SpaceConfig, an_override_changes_a_preset) {
    EXPECT_EQ(space("mirage", {"problem.space.max_block_ops=7"}),
              (SpaceConfig{.from = SpaceConfig::Preset::mirage, .max_block_ops = 7}));
}

TEST(SpaceConfig, lists_are_sorted_and_without_twins) {
    EXPECT_EQ(space("{loops: [64, 4, 16, 4]}"), space("{loops: [4, 16, 64]}"));
    EXPECT_EQ(space("{block_ops: [exp, matmul]}"), space("{block_ops: [matmul, exp, exp]}"));
}

TEST(SpaceConfig, what_is_written_is_checked) {
    EXPECT_THAT(errors_of(with_space("{max_kernel_ops: 0}")),
                HasSubstr("'problem.space.max_kernel_ops' = 0 is out of range: use auto or a whole number from 1 to "
                          "64"));
    EXPECT_THAT(errors_of(with_space("{loops: []}")),
                HasSubstr("'problem.space.loops' must be auto or a list of a whole number from 1 to 1000000000, not an "
                          "empty list"));
    EXPECT_THAT(errors_of(with_space("{tiles: [8, 0]}")), HasSubstr("'problem.space.tiles[1]' = 0 is out of range"));
    EXPECT_THAT(errors_of(with_space("{grid_dims: 4}")), HasSubstr("use auto or a whole number from 1 to 3"));
    EXPECT_THAT(errors_of(with_space("{threads: 2048}")), HasSubstr("use auto or a whole number from 1 to 1024"));
    EXPECT_THAT(errors_of(with_space("{shared_memory: lots}")), HasSubstr("must be auto or a size from 1KiB"));
    EXPECT_THAT(errors_of(with_space("{blocks: {min: 64, max: 32}}")),
                StartsWith("exp.yaml:1:68: error: 'problem.space.blocks' has min = 64 above max = 32"));
}

TEST(SpaceConfig, ops_must_be_ops_of_their_level) {
    EXPECT_THAT(errors_of(with_space("{kernel_ops: [accumulate]}")),
                HasSubstr("'problem.space.kernel_ops[0]' must be one of matmul, "));
    EXPECT_THAT(errors_of(with_space("{block_ops: [acumulate]}")), HasSubstr("did you mean 'accumulate'?"));
}

TEST(SpaceConfig, keys_without_a_meaning_are_refused) {
    EXPECT_THAT(errors_of(with_space("{setting: lora}")),
                HasSubstr("'problem.space.setting' has no meaning here (for the mirage space); remove it"));
    EXPECT_THAT(errors_of(with_space("{loops: [4], max_loop: 8}")),
                HasSubstr("'problem.space.max_loop' has no meaning here (where loops are auto); remove it"));
}

TEST(SpaceConfig, what_is_written_reads_back) {
    for (auto const* text : {"mirage", "full", "{from: mirage, setting: lora, loops: [4, 16]}",
                             "{max_loop: 8, blocks: {max: 10}, count_inputs: true, kernel_ops: [matmul, exp]}"}) {
        auto const config = parse(with_space(text));

        EXPECT_EQ(parse(to_yaml(config)), config) << text;
    }
}

} // namespace
} // namespace espalier::config::testing
