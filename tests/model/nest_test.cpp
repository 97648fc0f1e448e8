#include "espalier/model/nest.hpp"

#include "model/models.hpp"
#include "nest_evaluate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

/// What is fast, against the nests value by value.
namespace espalier::model {
namespace {

using base::Rng;
using base::Seed;

Whole within(Rng& rng, Whole least, Whole most) {
    return least + static_cast<Whole>(rng.below(static_cast<std::uint64_t>(most - least + 1)));
}
Dims random_dims(Rng& rng, Whole rank, Whole most) {
    Dims out;
    for (Whole i = 0; i < rank; ++i) out.push_back(within(rng, 1, most));
    return out;
}
Wholes random_list(Rng& rng, std::size_t size, Whole least, Whole most) {
    Wholes out;
    for (std::size_t i = 0; i < size; ++i) out.push_back(within(rng, least, most));
    return out;
}

/// A window that may not fit.
Named random_window(Rng& rng, std::size_t rank) {
    Named out{{"strides", random_list(rng, rank, 1, 3)}};
    if (rng.below(4) == 0)
        out["auto_pad"] = std::string(rng.below(2) == 0 ? "SAME_UPPER" : "SAME_LOWER");
    else
        out["pads"] = random_list(rng, 2 * rank, 0, 2);
    return out;
}

OneNode random_convolution(Rng& rng) {
    auto const rank = static_cast<std::size_t>(within(rng, 1, 3));
    auto const groups = within(rng, 1, 3), in = within(rng, 1, 3), out = within(rng, 1, 5);
    auto attributes = random_window(rng, rank);
    attributes["dilations"] = random_list(rng, rank, 1, 2);
    attributes["group"] = groups;
    auto x = Dims{within(rng, 1, 2), groups * in}, w = Dims{groups * out, in};
    for (std::size_t i = 0; i < rank; ++i) {
        x.push_back(within(rng, 1, 7));
        w.push_back(within(rng, 1, 3));
    }
    std::vector operands{random_reals(x, rng), random_reals(w, rng)};
    if (rng.below(2) == 0) operands.push_back(random_reals({groups * out}, rng));
    return {"Conv", operands, attributes};
}
OneNode random_pool(Rng& rng) {
    auto const rank = static_cast<std::size_t>(within(rng, 1, 3));
    auto attributes = random_window(rng, rank);
    attributes["kernel_shape"] = random_list(rng, rank, 1, 3);
    attributes["ceil_mode"] = within(rng, 0, 1);
    auto x = random_dims(rng, 2, 3);
    for (std::size_t i = 0; i < rank; ++i) x.push_back(within(rng, 1, 8));
    auto const is_average = rng.below(2) == 0;
    if (is_average) attributes["count_include_pad"] = within(rng, 0, 1);
    return {is_average ? "AveragePool" : "MaxPool", {random_reals(x, rng)}, attributes};
}
OneNode random_matmul(Rng& rng) {
    auto const m = within(rng, 1, 120), n = within(rng, 1, 20), k = within(rng, 1, 300);
    auto a = random_dims(rng, within(rng, 0, 2), 2), b = a;
    for (auto* const each : {&a, &b})
        for (auto& size : *each)
            if (rng.below(3) == 0) size = 1;
    if (rng.below(3) == 0) b.clear();
    a.insert(a.end(), {m, k});
    b.insert(b.end(), {k, n});
    return {"MatMul", {random_reals(a, rng), random_reals(b, rng)}};
}
OneNode random_gemm(Rng& rng) {
    auto const m = within(rng, 1, 9), n = within(rng, 1, 300), k = within(rng, 1, 9);
    auto const left = within(rng, 0, 1), right = within(rng, 0, 1);
    return {"Gemm",
            {random_reals(left != 0 ? Dims{k, m} : Dims{m, k}, rng),
             random_reals(right != 0 ? Dims{n, k} : Dims{k, n}, rng), random_reals({n}, rng)},
            {{"transA", left}, {"transB", right}, {"alpha", 0.5F}, {"beta", 2.0F}}};
}
OneNode random_element_wise(Rng& rng) {
    static std::vector<std::string> const ops{"Add", "Sub", "Mul", "Max", "Min"};
    auto a = random_dims(rng, within(rng, 0, 4), 4), b = a;
    for (auto* const each : {&a, &b})
        for (auto& size : *each)
            if (rng.below(3) == 0) size = 1;
    b.erase(b.begin(), b.begin() + static_cast<std::ptrdiff_t>(rng.below(b.size() + 1)));
    return {ops[rng.below(ops.size())], {random_reals(a, rng), random_reals(b, rng)}};
}
OneNode random_function(Rng& rng) {
    static std::vector<std::string> const ops{"Relu", "HardSwish", "HardSigmoid", "LeakyRelu", "Elu", "Sigmoid",
                                              "Neg",  "Tanh",      "Softplus",    "Erf",       "Exp", "Round"};
    return {ops[rng.below(ops.size())], {random_reals(random_dims(rng, within(rng, 0, 3), 30), rng)}};
}
OneNode random_reduction(Rng& rng) {
    static std::vector<std::string> const ops{"ReduceSum",  "ReduceMean", "ReduceMax",       "ReduceMin",
                                              "ReduceProd", "ReduceL2",   "ReduceSumSquare", "ReduceLogSumExp"};
    auto const x = random_reals(random_dims(rng, within(rng, 1, 4), 5), rng);
    Named attributes{{"keepdims", within(rng, 0, 1)}};
    if (rng.below(4) != 0) attributes["axes"] = Wholes{static_cast<Whole>(rng.below(x.dims.size()))};
    return {ops[rng.below(ops.size())], {x}, attributes, 11};
}
OneNode random_normalization(Rng& rng) {
    auto const x = random_reals(random_dims(rng, within(rng, 3, 4), 5), rng);
    Dims const channels{x.dims[1]};
    switch (rng.below(4)) {
    case 0:
        return {"Softmax", {x}, {{"axis", static_cast<Whole>(rng.below(x.dims.size()))}}, within(rng, 11, 13)};
    case 1:
        return {"LayerNormalization", {x, random_reals({x.dims.back()}, rng)}};
    case 2:
        return {"InstanceNormalization", {x, random_reals(channels, rng), random_reals(channels, rng)}};
    default: {
        auto variance = random_reals(channels, rng);
        for (auto& each : variance.reals) each = each * each + 1;
        return {"BatchNormalization",
                {x, random_reals(channels, rng), random_reals(channels, rng), random_reals(channels, rng), variance}};
    }
    }
}
OneNode random_move(Rng& rng) {
    auto const x = random_reals(random_dims(rng, within(rng, 1, 4), 5), rng);
    auto const rank = x.dims.size();
    auto const axis = static_cast<Whole>(rng.below(rank));
    switch (rng.below(5)) {
    case 0:
        return {"Transpose", {x}};
    case 1:
        return {"Pad", {x, list(random_list(rng, 2 * rank, -1, 2)), reals({}, {0.75})}};
    case 2:
        return {"Slice",
                {x, list({within(rng, -6, 6)}), list({within(rng, -6, 6)}), list({axis}),
                 list({rng.below(2) == 0 ? within(rng, 1, 3) : within(rng, -3, -1)})}};
    case 3:
        return {"Tile", {x, list(random_list(rng, rank, 0, 3))}};
    default: {
        auto other = x.dims;
        other[static_cast<std::size_t>(axis)] = within(rng, 0, 3);
        return {"Concat", {x, random_reals(other, rng), x}, {{"axis", axis}}};
    }
    }
}

/// Equal, up to rounding in another order.
void expect_near(Array const& got, Array const& expected) {
    ASSERT_EQ(got.element, expected.element);
    ASSERT_EQ(got.dims, expected.dims);
    ASSERT_EQ(got.wholes, expected.wholes);
    ASSERT_EQ(got.reals.size(), expected.reals.size());
    for (std::size_t i = 0; i < got.reals.size(); ++i) {
        if (got.reals[i] == expected.reals[i]) continue; // infinities
        ASSERT_NEAR(got.reals[i], expected.reals[i], 1e-12 * (1 + std::abs(expected.reals[i]))) << i;
    }
}

/// How many nests were compared, which none of the fast ways may leave at zero.
struct Compared {
    int contractions = 0, rows = 0;
};
void compare(OneNode const& test, Compared& compared) {
    auto const found = define(test.model.nodes[0], test.model, infer(test.model));
    auto const* const definition = std::get_if<Definition>(&found);
    if (!definition) return;
    std::vector<Array> arrays(definition->operands);
    for (std::size_t i = 0; i < arrays.size(); ++i) {
        auto const& name = test.model.nodes[0].inputs[i];
        if (name.empty()) continue;
        arrays[i] = test.inputs.contains(name) ? test.inputs.at(name) : to_array(*test.model.constant(name));
    }
    arrays.reserve(arrays.size() + definition->nests.size());
    Sources sources;
    for (auto const& array : arrays) sources.push_back(&array);
    for (auto const& nest : definition->nests) {
        auto expected = evaluate_plainly(nest, sources, {});
        if (auto const got = evaluate_contraction(nest, sources, {})) {
            expect_near(*got, expected);
            ++compared.contractions;
        }
        if (auto const got = evaluate_rows(nest, sources, {})) {
            expect_near(*got, expected);
            ++compared.rows;
        }
        arrays.push_back(std::move(expected));
        sources.push_back(&arrays.back());
    }
}

template <class Make>
Compared compare_random(Make make, int tests) {
    Compared out;
    Rng rng(Seed{7});
    for (int i = 0; i < tests && !testing::Test::HasFailure(); ++i) {
        auto const test = make(rng);
        SCOPED_TRACE(fmt::format("test {}: {}", i, test.model.nodes[0].op));
        compare(test, out);
    }
    return out;
}

TEST(FastNests, convolutions_are_those_of_the_definition) {
    auto const compared = compare_random(random_convolution, 400);

    EXPECT_GT(compared.contractions, 200);
    EXPECT_GT(compared.rows, 200);
}
TEST(FastNests, pools_are_those_of_the_definition) { EXPECT_GT(compare_random(random_pool, 300).rows, 150); }
TEST(FastNests, products_of_matrices_are_those_of_the_definition) {
    EXPECT_GT(compare_random(random_matmul, 30).contractions, 25);
    EXPECT_GT(compare_random(random_gemm, 60).contractions, 55);
}
TEST(FastNests, element_wise_ops_are_those_of_the_definition) {
    EXPECT_GT(compare_random(random_element_wise, 300).rows, 290);
    EXPECT_GT(compare_random(random_function, 200).rows, 190);
}
TEST(FastNests, reductions_are_those_of_the_definition) { EXPECT_GT(compare_random(random_reduction, 300).rows, 290); }
TEST(FastNests, norms_are_those_of_the_definition) { EXPECT_GT(compare_random(random_normalization, 200).rows, 300); }
TEST(FastNests, moves_are_those_of_the_definition) { EXPECT_GT(compare_random(random_move, 400).rows, 300); }

} // namespace
} // namespace espalier::model
