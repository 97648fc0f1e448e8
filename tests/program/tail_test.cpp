#include "espalier/program/tail.hpp"

#include "espalier/base/error.hpp"
#include "espalier/program/json.hpp"
#include "espalier/program/text.hpp"

#include "support/programs.hpp"

#include <gmock/gmock.h>

#include <functional>

namespace espalier::program {
namespace {

using programs::GraphBuilder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

auto refuses(std::string const& words) { return ThrowsMessage<base::InputError>(HasSubstr(words)); }

/// A partition by the loop along dimension 0 of a tensor, and by axis x of the grid.
Partition by_loop(std::int64_t last) { return {.loop = 0, .last = {last}}; }
Partition by_both(std::int64_t last) { return {.grid = {0, -1, -1}, .loop = 0, .last = {last}}; }

TEST(Tail, a_tile_is_rounded_up_and_the_last_one_has_the_rest) {
    Schedule const schedule{.grid = {2, 1, 1}, .loop = 3};

    EXPECT_EQ(tile_shape({7, 2}, by_loop(1), schedule), (Shape{3, 2}));
    EXPECT_EQ(tile_shape({11, 2}, by_both(1), schedule), (Shape{2, 2})) << "six parts";
    EXPECT_EQ(with_tails({.loop = 0}, {7, 2}, schedule), by_loop(1));
    EXPECT_EQ(with_tails({.loop = 0}, {6, 2}, schedule), by_loop(0));
}

TEST(Tail, a_stated_last_tile_must_be_right) {
    Schedule const schedule{.loop = 3};
    auto const tile = [&](std::int64_t size, Partition const& partition) {
        return [&schedule, size, partition] { (void)tile_shape({size, 2}, partition, schedule); };
    };

    EXPECT_THAT(tile(7, by_loop(2)), refuses("the last of which cannot be 2: it is 1"));
    EXPECT_THAT(tile(7, by_loop(0)), refuses("in 3 parts, which do not divide it: say that the last one has 1"));
    EXPECT_THAT(tile(6, by_loop(2)), refuses("leave out `last`"));
    EXPECT_THAT(tile(4, by_loop(0)), refuses("fewer parts are enough")) << "2, 2 and nothing";
    EXPECT_THAT(tile(7, by_loop(-1)), refuses("cannot be -1"));
    EXPECT_THAT(tile(6, {.loop = 0, .last = {0, 1}}), refuses("nothing splits dimension 1"));
    EXPECT_THAT(tile(6, {.loop = 0, .last = {0, 0, 1}}), refuses("dimension 2"));
}

TEST(Tail, only_the_last_part_of_all_is_smaller) {
    Schedule const schedule{.grid = {2, 1, 1}, .loop = 3};
    auto const tail = tails_of(by_both(1))[0];
    auto const size = [&](std::int64_t x, std::int64_t step) { return size_at(2, tail, schedule, {{x, 0, 0}, step}); };

    EXPECT_EQ(parts_of(tail, schedule), 6);
    EXPECT_EQ(whole_size(2, tail, schedule), 11);
    EXPECT_THAT((std::array{size(0, 0), size(0, 2), size(1, 0), size(1, 1), size(1, 2)}), ElementsAre(2, 2, 2, 2, 1));
}

/// A block on X [7, 5] in three steps along dimension 0 or `dim`.
GraphBuilder block_on(Schedule& schedule, int dim = 0) {
    Shape const whole{7, 5};
    schedule.inputs = {with_tails({.loop = dim}, whole, schedule)};
    GraphBuilder block(schedule);
    block.input(tile_shape(whole, schedule.inputs[0], schedule));
    return block;
}
Attributes along(int axis) { return Attributes{}.with(AttributeName::axis, axis); }

TEST(Tail, tiles_that_the_loop_makes_smaller_do_not_add_up) {
    Schedule schedule{.loop = 3};
    auto kept = block_on(schedule), reduced = block_on(schedule);

    EXPECT_THAT([&] { (void)infer(kept.build({kept.op(OpCode::accumulate, {0})})); }, refuses("do not add up"));
    EXPECT_THAT([&] { (void)infer(kept.build({kept.op(OpCode::accumulate_sum, {0}, along(1))})); },
                refuses("do not add up"));
    EXPECT_NO_THROW((void)infer(reduced.build({reduced.op(OpCode::accumulate_sum, {0}, along(0))})));
}

TEST(Tail, a_mean_over_a_part_is_refused_and_over_all_parts_is_not) {
    Schedule schedule{.loop = 3};
    auto parts = block_on(schedule), norm = block_on(schedule), all = block_on(schedule);
    auto const rms = parts.op(OpCode::rms, {0}, along(0));
    auto const normalised = norm.op(OpCode::rms_norm, {0}, along(0));

    EXPECT_THAT([&] { (void)infer(parts.build({parts.op(OpCode::accumulate, {rms})})); }, refuses("its mean"));
    EXPECT_THAT([&] { (void)infer(norm.build({norm.op(OpCode::accumulate, {normalised})})); }, refuses("its mean"));
    EXPECT_NO_THROW((void)infer(all.build({all.op(OpCode::accumulate_rms, {0}, along(0))})));
}

TEST(Tail, operands_must_be_cut_alike) {
    Schedule schedule{.loop = 3};
    auto block = block_on(schedule);
    schedule.inputs.push_back({});
    GraphBuilder two(schedule);
    auto const x = two.input({3, 5}), whole = two.input({3, 5});
    auto const sum = two.op(OpCode::add, {x, whole});

    EXPECT_THAT([&] { (void)infer(two.build({two.op(OpCode::accumulate_sum, {sum}, along(0))})); },
                refuses("different sizes"))
        << "of the same size by accident";
}

TEST(Tail, a_dimension_that_is_folded_must_be_whole) {
    Schedule schedule{.loop = 3};
    auto block = block_on(schedule, 1); // 2, 2 and 1
    auto const folded = block.op(OpCode::sum_to, {0}, along(1).with(AttributeName::size, 2));

    EXPECT_THAT([&] { (void)infer(block.build({block.op(OpCode::accumulate, {folded})})); },
                refuses("from end to end"));
}

TEST(Tail, the_axes_that_join_an_output_must_be_those_that_cut_it) {
    Schedule schedule{.grid = {2, 1, 1}, .output = {0, -1, -1}};
    schedule.inputs = {with_tails({.grid = {0, -1, -1}}, {7, 5}, schedule)};
    GraphBuilder block(schedule);
    auto const made = block.op(OpCode::accumulate, {block.input({4, 5})});
    auto const good = block.build({made});
    auto other = good;
    other.schedule.output = {1, -1, -1};
    auto const kernel_of = [](Graph const& body) {
        GraphBuilder kernel;
        auto const x = kernel.input({7, 5});
        return kernel.build({kernel.graph(body, {x})});
    };

    EXPECT_EQ(infer(kernel_of(good)).back().shape, (Shape{7, 5}));
    EXPECT_THAT([&] { (void)infer(kernel_of(other)); }, refuses("do not number"));
}

Graph summing() {
    Schedule schedule{.loop = 3};
    auto block = block_on(schedule);
    auto const body = block.build({block.op(OpCode::accumulate_sum, {0}, along(0))});
    GraphBuilder kernel;
    auto const x = kernel.input({7, 5}, "X");
    return kernel.build({kernel.graph(body, {x})});
}

TEST(Tail, formats_show_it_and_read_it_back) {
    auto const program = summing();

    EXPECT_THAT(to_text(program), HasSubstr("x = tile X (loop: 0, last: [0, 1])"));
    EXPECT_EQ(parse_text(to_text(program), "program"), program);
    EXPECT_THAT(to_json(program).dump(), HasSubstr("\"last\":[1]"));
    EXPECT_EQ(from_json(to_json(program)), program);
}

TEST(Tail, text_says_what_is_wrong_with_it) {
    auto text = to_text(summing());
    auto const at = text.find("[0, 1]");
    auto const with = [&](std::string const& words) {
        auto changed = text;
        changed.replace(at, 6, words);
        return [changed] { (void)parse_text(changed, "program"); };
    };

    EXPECT_THAT(with("[0, 2]"), refuses("cannot be 2: it is 1"));
    EXPECT_THAT(with("[0]"), refuses("give it like [0, 3]"));
    EXPECT_THAT(with("[7, 1]"), refuses("give it like [0, 3]"));
}

} // namespace
} // namespace espalier::program
