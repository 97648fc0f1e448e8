#include "programs.hpp"
#include "shrink.hpp"

#include "espalier/verify/reference.hpp"

#include <gmock/gmock.h>

#include <algorithm>

/// Attributes that are sizes: they follow the sizes of the shape that a program is evaluated on.
namespace espalier::problems::mugraph {
namespace {

using program::AttributeName;
using program::Source;

/// X [B, K] summed down to `size` columns along `axis`, times W.
MugraphConfig sum_and_matmul(std::int64_t hidden, std::int64_t axis, std::int64_t size) {
    MugraphConfig config;
    auto& source = config.program;
    auto const number = std::to_string(size);
    auto const is_last = axis == -1 || axis == 1;
    source.dims = {{"B", 4}, {"K", hidden}, {"N", 4}};
    source.inputs = {{"X", {is_last ? "B" : "K", is_last ? "K" : "B"}}, {"W", {is_last ? number : "B", "N"}}};
    auto const attributes = program::Attributes::axis(axis).with(AttributeName::size, size);
    source.ops = {{{"S"}, "sum_to", {"X"}, attributes}, {{"Y"}, "matmul", {"S", "W"}, {}}};
    source.outputs = {"Y"};
    return config;
}

/// K -> 12 -> 4 -> 2, a chain of sums.
Source chain() {
    Source source;
    source.dims = {{"B", 3}, {"K", 24}};
    source.inputs = {{"X", {"B", "K"}}};
    for (std::string previous = "X"; auto const* size : {"12", "4", "2"}) {
        auto const out = std::string("S") + size;
        source.ops.push_back(
            {{out}, "sum_to", {previous}, program::Attributes().with(AttributeName::size, std::stoll(size))});
        previous = out;
    }
    source.outputs = {"S2"};
    return source;
}

TEST(SumsTo, a_program_that_sums_to_a_size_is_searched) {
    for (std::int64_t const axis : {-1, 1, 0, -2}) {
        SCOPED_TRACE(axis);
        auto const config = sum_and_matmul(12, axis, 4);
        verify::Draw const draw{7, field::Roots::power, verify::Exponents::if_needed};
        auto const wanted = verify::evaluate_reference(program::build(config.program), draw).outputs;

        auto const found = programs_of(search(config));

        EXPECT_TRUE(std::ranges::any_of(found, [](auto const& graph) { return program::kernel_count(graph) == 1; }));
        for (auto const& graph : found) EXPECT_EQ(verify::evaluate_reference(graph, draw).outputs, wanted);
    }
}

TEST(SumsTo, a_loop_over_the_summed_dimension_leaves_whole_sums) {
    auto config = sum_and_matmul(24, -1, 4);
    config.space.schedules = SpaceConfig::Schedules::all;
    auto const walk = search(config);

    std::set<std::int64_t> loops;
    for (auto const& graph : programs_of(walk)) loops.insert(program::largest_loop(graph));
    EXPECT_THAT(loops, testing::ElementsAre(1, 2, 3, 6)); // the divisors of 24 / 4; 4, 8 and 12 leave parts of a sum
}

TEST(SumsTo, on_every_shrunk_shape_the_program_is_the_same_one) {
    for (auto const& source : {sum_and_matmul(12, -1, 4).program, sum_and_matmul(12, 0, 4).program, chain()}) {
        Target const target(source);
        for (std::uint32_t unit_dims = 0; unit_dims < 1u << target.dims; ++unit_dims) {
            auto const small = target.with_sizes(first_sizes(target, unit_dims));

            EXPECT_NO_THROW((void)program::infer(small));
            EXPECT_EQ(program::form_key(small), program::form_key(target.graph));
        }
    }
}

TEST(SumsTo, sizes_of_a_chain_are_proper_multiples_on_both_shrunk_shapes) {
    Target const target(chain());
    std::vector<int> const from_large{1, 2, 3, 4}; // K, 12, 4, 2

    for (auto const& sizes : {first_sizes(target, 0), second_sizes(target, Node{}, target.shapes)})
        for (std::size_t i = 1; i < from_large.size(); ++i) {
            auto const whole = sizes[static_cast<std::size_t>(from_large[i - 1])];
            auto const part = sizes[static_cast<std::size_t>(from_large[i])];
            EXPECT_EQ(whole % part, 0);
            EXPECT_GT(whole, part);
        }
}

TEST(SumsTo, the_real_sizes_give_the_program_as_it_was_written) {
    Target const target(chain());

    EXPECT_EQ(target.with_sizes(target.real_sizes()), target.graph);
}

} // namespace
} // namespace espalier::problems::mugraph
