#include "config/experiments.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::config::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

PlacementConfig placement(RunConfig const& config) { return config.problem.as<PlacementConfig>(); }

std::string experiment(std::string const& problem) {
    return "problem:\n  kind: placement\n" + problem + "results: {path: runs/x}\n";
}
std::string const two_levels =
    "  hierarchy: [{name: node, size: 4, bandwidth: 8GB/s, latency: 10us}, {name: gpu, size: 16}]\n";

TEST(PlacementConfig, all_of_it_is_read_and_written_again) {
    auto const config = parse(
        experiment(two_levels + "  axes: {data: 16, shards: 4}\n"
                                "  reductions: [{axes: [data], payload: 1MiB, weight: 2, request: reduce_scatter}]\n"
                                "  max_steps: 4\n  broadcast: strict\n  segments: [1, 8]\n"));
    auto const& p = placement(config);
    EXPECT_EQ(p.hierarchy[0], (LevelConfig{"node", 4, 8'000'000'000, base::Nanoseconds(10'000), 1}));
    EXPECT_EQ(p.axes, (std::vector<AxisConfig>{{"data", 16}, {"shards", 4}}));
    EXPECT_EQ(p.reductions, (std::vector<ReductionConfig>{{{"data"}, 1 << 20, 2, Request::reduce_scatter}}));
    EXPECT_EQ(p.segments, (std::vector<std::int32_t>{1, 8}));
    EXPECT_EQ(parse(to_yaml(config)), config);
}

TEST(PlacementConfig, sizes_that_do_not_match_are_told_with_their_place) {
    EXPECT_THAT(errors_of(experiment(two_levels + "  axes: {data: 16, shards: 2}\n")),
                AllOf(HasSubstr("exp.yaml:4:9: error:"), HasSubstr("multiply to 32, the levels to 64 devices")));
    EXPECT_THAT(errors_of(experiment("  hierarchy: [{name: node, size: 0}]\n")),
                AllOf(HasSubstr("exp.yaml:3:"), HasSubstr("out of range")));
    EXPECT_THAT(errors_of(experiment("  hierarchy: [{name: node, size: [16, 15]}]\n")), HasSubstr("is uneven"));
    EXPECT_THAT(errors_of(experiment("  hierarchy: []\n")), HasSubstr("1 to 8 levels"));
}

TEST(PlacementConfig, a_reduction_names_axes_that_are_there_and_brings_enough) {
    auto const with = [](std::string const& reduction) {
        return errors_of(experiment(two_levels + "  axes: {data: 16, shards: 4}\n  reductions: [" + reduction + "]\n"));
    };
    EXPECT_THAT(with("{axes: [dat]}"),
                AllOf(HasSubstr("exp.yaml:5:23: error:"), HasSubstr("'dat'"), HasSubstr("did you mean 'data'?")));
    EXPECT_THAT(with("{axes: [data], payload: 15B}"), HasSubstr("a payload of 15B for a group of 16 devices"));
    EXPECT_THAT(with("{axes: [data, data]}"), HasSubstr("twice"));
    EXPECT_THAT(with("{axes: []}"), HasSubstr("names no axis"));
    EXPECT_THAT(errors_of(experiment(two_levels + "  axes: {data: 64, model: 1}\n  reductions: [{axes: [model]}]\n")),
                HasSubstr("groups of one device"));
}

TEST(PlacementConfig, levels_have_names_of_their_own) {
    auto const with = [](std::string const& first, std::string const& second) {
        return errors_of(experiment("  hierarchy: [{name: " + first + ", size: 2}, {name: " + second +
                                    ", size: 2}]\n  axes: {a: 4}\n"));
    };
    EXPECT_THAT(with("node", "node"), AllOf(HasSubstr("exp.yaml:3:45: error:"), HasSubstr("as another level's")));
    EXPECT_THAT(with("root", "gpu"), HasSubstr("the name of the whole group"));
}

TEST(PlacementConfig, what_could_not_be_searched_or_checked_is_refused) {
    std::string levels = "  hierarchy: [";
    for (int i = 0; i < 6; ++i) levels += fmt::format("{}{{name: l{}, size: 2}}", i > 0 ? ", " : "", i);
    EXPECT_THAT(errors_of(experiment(levels + "]\n  axes: {a: 64}\n")),
                AllOf(HasSubstr("exp.yaml:3:14: error:"), HasSubstr("6 levels of more than one instance")));
    EXPECT_THAT(errors_of(experiment("  hierarchy: [{name: gpu, size: 8192}]\n  axes: {a: 8192}\n")),
                HasSubstr("over groups of 8192 devices, more than 4096"));
    EXPECT_THAT(errors_of(experiment(two_levels + "  axes: {a: 64}\n  payload: 63B\n")),
                AllOf(HasSubstr("exp.yaml:5:12: error:"), HasSubstr("a payload of 63B for a group of 64 devices")));
    EXPECT_THAT(errors_of(experiment(two_levels + "  axes: {a: 64}\n  segments: []\n")),
                AllOf(HasSubstr("exp.yaml:5:13: error:"), HasSubstr("use [1]")));
    EXPECT_THAT(errors_of(experiment(two_levels + "  axes: {'': 64}\n")),
                AllOf(HasSubstr("exp.yaml:4:"), HasSubstr("has no name")));
    EXPECT_THAT(errors_of(experiment(two_levels + "  axes: {a: 64}\n  sweep: [{sizes: [2, 8], axes: {a: 16}}]\n")),
                AllOf(HasSubstr("exp.yaml:4:9: error:"), HasSubstr("axes of their own")));
}

TEST(PlacementConfig, systems_of_a_sweep_are_checked_one_by_one) {
    EXPECT_THAT(errors_of(experiment(
                    two_levels + "  sweep:\n    - {sizes: [2, 8], axes: {a: 16}}\n    - {sizes: [2], axes: {a: 2}}\n"
                                 "    - {sizes: [2, 8], axes: {a: 8}}\n")),
                AllOf(HasSubstr("exp.yaml:6:"), HasSubstr("1 sizes for 2 levels"), HasSubstr("exp.yaml:7:"),
                      HasSubstr("multiply to 8, the levels to 16 devices")));
}

} // namespace
} // namespace espalier::config::testing
