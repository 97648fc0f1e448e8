#include "espalier/verify/proof.hpp"

#include <gtest/gtest.h>

namespace espalier::verify {
namespace {

using namespace program;
using enum OpCode;

/// Ops on a, b, c (tensors 0, 1, 2; ops follow from 3); the last one is the output.
Graph of(std::vector<Op> ops) {
    Graph out{.inputs = {{"a", {4, 6}}, {"b", {4, 6}}, {"c", {4, 6}}}, .ops = std::move(ops)};
    out.outputs = {2 + static_cast<int>(out.ops.size())};
    return out;
}
bool is_proved(Graph const& a, Graph const& b) {
    auto const there = Prover(a).prove(b), back = Prover(b).prove(a);
    EXPECT_EQ(there.is_proved, back.is_proved) << there.reason << back.reason;
    EXPECT_EQ(there.is_proved, there.reason.empty());
    return there.is_proved;
}
/// Proved, but not with the roles changed: the reference is not defined wherever the candidate is.
bool is_proved_one_way(Graph const& reference, Graph const& candidate) {
    auto const there = Prover(reference).prove(candidate), back = Prover(candidate).prove(reference);
    EXPECT_FALSE(back.is_proved);
    EXPECT_FALSE(back.is_defined);
    EXPECT_NE(back.reason.find("that the reference does not"), std::string::npos) << back.reason;
    return there.is_proved && there.is_defined;
}

TEST(ProofLaws, exponentials_multiply_as_their_arguments_add) {
    auto const product = of({{exp, {}, {0}}, {exp, {}, {1}}, {mul, {}, {3, 4}}});
    auto const quotient = of({{exp, {}, {0}}, {exp, {}, {1}}, {div, {}, {3, 4}}});
    auto const of_sum = of({{add, {}, {1, 0}}, {exp, {}, {3}}});
    auto const of_difference = of({{sub, {}, {0, 1}}, {exp, {}, {3}}});

    EXPECT_TRUE(is_proved(product, of_sum));
    EXPECT_TRUE(is_proved(quotient, of_difference));
    EXPECT_FALSE(is_proved(product, of_difference));
    EXPECT_FALSE(is_proved(of_sum, of({{exp, {}, {0}}, {exp, {}, {1}}, {add, {}, {3, 4}}})));
}

TEST(ProofLaws, roots_multiply_but_do_not_add) {
    auto const roots = [](OpCode joined) { return of({{sqrt, {}, {0}}, {sqrt, {}, {1}}, {joined, {}, {3, 4}}}); };
    auto const root_of = [](OpCode inside) { return of({{inside, {}, {0, 1}}, {sqrt, {}, {3}}}); };

    EXPECT_TRUE(is_proved_one_way(roots(mul), root_of(mul)));
    EXPECT_FALSE(is_proved(roots(add), root_of(add)));
    EXPECT_FALSE(is_proved(of({{square, {}, {0}}, {sqrt, {}, {3}}}), of({{add, {}, {0, 1}}, {sub, {}, {3, 1}}})));
}

TEST(ProofLaws, quotients_of_quotients) {
    auto const twice = of({{div, {}, {0, 1}}, {div, {}, {3, 2}}});
    auto const by_quotient = of({{div, {}, {1, 2}}, {div, {}, {0, 3}}});

    EXPECT_TRUE(is_proved(twice, of({{mul, {}, {2, 1}}, {div, {}, {0, 3}}})));
    EXPECT_TRUE(is_proved_one_way(by_quotient, of({{mul, {}, {0, 2}}, {div, {}, {3, 1}}})));
    EXPECT_FALSE(is_proved(twice, by_quotient));
}

TEST(ProofLaws, a_divisor_does_not_distribute_but_a_dividend_does) {
    auto const sum_over_c = of({{add, {}, {0, 1}}, {div, {}, {3, 2}}});
    auto const c_over_sum = of({{add, {}, {0, 1}}, {div, {}, {2, 3}}});

    EXPECT_TRUE(is_proved(sum_over_c, of({{div, {}, {0, 2}}, {div, {}, {1, 2}}, {add, {}, {3, 4}}})));
    EXPECT_FALSE(is_proved(c_over_sum, of({{div, {}, {2, 0}}, {div, {}, {2, 1}}, {add, {}, {3, 4}}})));
}

TEST(ProofLaws, numbers_come_out_of_divisors) {
    // c / (s + s) with s = sum of a
    std::vector<Op> const half{{sum, {}, {0}}, {add, {}, {3, 3}}, {div, {}, {2, 4}}};
    auto const quotient = of({{sum, {}, {0}}, {div, {}, {2, 3}}});
    auto twice = half;
    twice.push_back({add, {}, {5, 5}});

    EXPECT_FALSE(is_proved(of(half), quotient));
    EXPECT_TRUE(is_proved(of(twice), quotient));
}

TEST(ProofLaws, products_expand_and_like_terms_add) {
    auto const product = of({{add, {}, {0, 1}}, {sub, {}, {0, 1}}, {mul, {}, {3, 4}}});
    auto const difference = [](int first, int second) {
        return of({{square, {}, {first}}, {square, {}, {second}}, {sub, {}, {3, 4}}});
    };

    EXPECT_TRUE(is_proved(product, difference(0, 1)));
    EXPECT_FALSE(is_proved(product, difference(1, 0)));
}

TEST(ProofLaws, functions_differ_by_name_attributes_and_order_of_operands) {
    auto const clamped = [](std::int64_t low, std::int64_t high) {
        return of({{clamp, Attributes().with(AttributeName::low, low).with(AttributeName::high, high), {0}}});
    };

    EXPECT_TRUE(is_proved(clamped(-1, 1), clamped(-1, 1)));
    EXPECT_FALSE(is_proved(clamped(-1, 1), clamped(-1, 2)));
    EXPECT_FALSE(is_proved(of({{silu, {}, {0}}}), of({{gelu, {}, {0}}})));
    EXPECT_FALSE(is_proved(of({{pow, {}, {0, 1}}}), of({{pow, {}, {1, 0}}})));
}

TEST(ProofLaws, norms_are_what_their_definitions_say) {
    EXPECT_TRUE(is_proved(of({{rms_norm, {}, {0}}}), of({{rms, {}, {0}}, {div, {}, {0, 3}}})));
    EXPECT_FALSE(is_proved(of({{rms_norm, {}, {0}}}), of({{rms_norm, Attributes::axis(0), {0}}})));
    Op const column_sums{sum, Attributes::axis(0), {0}};
    EXPECT_TRUE(
        is_proved(of({column_sums, {rms_norm, {}, {3}}}), of({column_sums, {rms, {}, {3}}, {div, {}, {3, 4}}})));
    EXPECT_FALSE(is_proved(of({{rms_norm, {}, {0}}}), of({{layer_norm, {}, {0}}})));
    // The mean of what is left after the mean was taken out is 0.
    EXPECT_TRUE(is_proved_one_way(of({{layer_norm, {}, {0}}, {sum, {}, {3}}, {add, {}, {4, 0}}}),
                                  of({{sub, {}, {0, 1}}, {add, {}, {3, 1}}})));
}

/// One block that runs `ops` for three steps on tiles of a, b and c as `inputs` say; the last op is the output.
Graph looped(std::vector<Partition> const& inputs, std::vector<Op> ops) {
    Schedule const schedule{.loop = 3, .inputs = inputs, .output = {0, -1, -1}};
    Graph block{.level = Level::block, .ops = std::move(ops), .schedule = schedule};
    for (auto const& partition : inputs) block.inputs.push_back({"", tile_shape({4, 6}, partition, schedule)});
    block.outputs = {2 + static_cast<int>(block.ops.size())};
    auto out = of({{graph, {}, {0, 1, 2}, 0}});
    out.bodies = {block};
    return out;
}

TEST(ProofLaws, steps_that_read_the_same_tile_add_it_again) {
    Partition const whole;
    auto const accumulated = looped({whole, whole, whole}, {{accumulate, {}, {0}}});

    EXPECT_TRUE(is_proved(accumulated, of({{add, {}, {0, 0}}, {add, {}, {3, 0}}})));
    EXPECT_FALSE(is_proved(accumulated, of({{add, {}, {0, 0}}})));
    EXPECT_TRUE(is_proved(looped({whole, whole, whole}, {{accumulate_rms, {}, {0}}}), of({{rms, {}, {0}}})));
}

TEST(ProofLaws, digits_are_one_variable_only_if_they_stand_together_everywhere) {
    // sum over f, r of a[i, 2 f + r] and b[i, 2 f + r], against b[i, r] and b[i, f] in its place
    Partition const split{.loop = 1}, whole;
    auto const two_columns = Attributes().with(AttributeName::size, 2);
    for (auto const code : {mul, div, pow}) {
        auto const plain = of({{code, {}, {0, 1}}, {sum, {}, {3}}});
        auto const same = looped({split, split, whole}, {{code, {}, {0, 1}}, {accumulate_sum, {}, {3}}});
        auto const by_r =
            looped({split, whole, whole}, {{sum_to, two_columns, {1}}, {code, {}, {0, 3}}, {accumulate_sum, {}, {4}}});
        auto const by_f =
            looped({split, split, whole}, {{sum, {}, {1}}, {code, {}, {0, 3}}, {accumulate_sum, {}, {4}}});

        EXPECT_TRUE(is_proved(plain, same));
        for (auto const& other : {by_r, by_f}) EXPECT_FALSE(is_proved(plain, other));
        EXPECT_FALSE(is_proved(by_r, by_f));
    }
}

/// A kernel on one tensor of the given shape whose blocks put tiles cut along one dimension one after the other along
/// another. Its op does nothing: it sums one value a column.
Graph moved(Shape const& shape, std::int64_t parts, int from, int to) {
    Schedule const schedule{.grid = {parts, 1, 1}, .inputs = {{.grid = {from, -1, -1}}}, .output = {to, -1, -1}};
    auto const tile = tile_shape(shape, schedule.inputs[0], schedule);
    Graph out{.level = Level::block, .inputs = {{"", tile}}, .schedule = schedule};
    out.ops = {{sum_to, Attributes().with(AttributeName::size, tile.back()), {0}}};
    out.outputs = {1};
    return out;
}

TEST(ProofLaws, digits_that_changed_places_are_not_the_same_index) {
    // [4, 6] -> [2, 12] -> [1, 24] -> [4, 6]: row 2 x + y comes to row 2 y + x.
    auto const transposed = [](int times) {
        Graph out = of({});
        for (int i = 0; i < times; ++i)
            for (auto const& body : {moved({4, 6}, 2, 0, 1), moved({2, 12}, 2, 0, 1), moved({1, 24}, 4, 1, 0)}) {
                auto const made = static_cast<int>(out.ops.size());
                out.ops.push_back({graph, {}, {made == 0 ? 0 : 2 + made}, made});
                out.bodies.push_back(body);
            }
        out.ops.push_back({relu, {}, {2 + 3 * times}});
        out.outputs = {3 + 3 * times};
        return out;
    };
    auto const in_place = of({{relu, {}, {0}}});

    EXPECT_FALSE(is_proved(in_place, transposed(1)));
    EXPECT_TRUE(is_proved(in_place, transposed(2)));
}

TEST(ProofLaws, a_sum_over_columns_is_a_sum_over_tiles_and_their_columns) {
    // sum over k of a[i, k] B[i, k / 2], where B[i, f] is the sum of tile f of b
    Graph block{.level = Level::block, .inputs = {{"", {4, 2}}, {"", {4, 2}}}};
    block.ops = {{sum, {}, {1}}, {mul, {}, {0, 2}}};
    block.outputs = {3};
    block.schedule = {
        .grid = {3, 1, 1}, .inputs = {{.grid = {1, -1, -1}}, {.grid = {1, -1, -1}}}, .output = {1, -1, -1}};
    auto gridded = of({{graph, {}, {0, 1}, 0}, {sum, {}, {3}}});
    gridded.bodies = {block};
    Partition const split{.loop = 1};

    EXPECT_TRUE(
        is_proved(gridded, looped({split, split, {}}, {{sum, {}, {1}}, {mul, {}, {0, 3}}, {accumulate_sum, {}, {4}}})));
    EXPECT_FALSE(is_proved(gridded, of({{mul, {}, {0, 1}}, {sum, {}, {3}}})));
}

/// [2, 12]: element (r, j) is that of row 2 d + r of a column, where digit d of j is the block that makes it.
struct Spread {
    std::array<std::int64_t, 3> grid{1, 1, 1};
    std::size_t axis = 0; ///< of the grid, which cuts the column
};
Graph make(Spread const& spread) {
    auto const& [grid, axis] = spread;
    auto const width = 12 / (grid[0] * grid[1]);
    Schedule schedule{.grid = grid, .inputs = {{}, {}}, .output = {1, grid[1] > 1 ? 1 : -1, -1}};
    schedule.inputs[0].grid[axis] = 0;
    Graph block{.level = Level::block, .inputs = {{"", {2, 1}}, {"", {2, width}}}, .schedule = schedule};
    block.ops = {{sub, {}, {1, 1}}, {add, {}, {0, 2}}}; // as wide as a tile, and 0
    block.outputs = {3};
    return block;
}

TEST(ProofLaws, digits_that_are_not_whole_are_not_joined) {
    // Tiles of 4 and 6 out of 12: sum over r, j of a[2 (j / 4) + r] b[2 (j / 6) + r] e[2 (j mod 6 / 2) + r], and the
    // same with a and e in each other's place.
    std::array const bodies{make({{3, 1, 1}, 0}), make({{2, 1, 1}, 0}), make({{2, 3, 1}, 1})};
    auto const total = [&](int first, int last) {
        Graph out{.inputs = {{"a", {6, 1}}, {"b", {4, 1}}, {"e", {6, 1}}, {"", {2, 4}}, {"", {2, 6}}, {"", {2, 2}}}};
        out.bodies.assign(bodies.begin(), bodies.end());
        out.ops = {{graph, {}, {first, 3}, 0},
                   {graph, {}, {1, 4}, 1},
                   {graph, {}, {last, 5}, 2},
                   {mul, {}, {6, 7}},
                   {mul, {}, {9, 8}},
                   {sum, Attributes::axis(0), {10}},
                   {sum, Attributes::axis(1), {11}}};
        out.outputs = {12};
        return out;
    };

    EXPECT_TRUE(is_proved(total(0, 2), total(0, 2)));
    EXPECT_FALSE(is_proved(total(0, 2), total(2, 0)));
}

TEST(ProofLaws, undefined_values_are_not_proved) {
    auto const zero_divisor = of({{sub, {}, {1, 1}}, {div, {}, {0, 3}}});

    EXPECT_FALSE(is_proved(zero_divisor, zero_divisor));
}

} // namespace
} // namespace espalier::verify
