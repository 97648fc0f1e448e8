#include "first_found.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

/// softmax(Q K^T) V as people spell it: with the default settings, each spelling has one kernel with online
/// softmax, and where rows are split, two.
namespace espalier::problems::mugraph {
namespace {

using program::Attributes;
using program::Graph;
using program::OpCode;
using program::Source;
using program::SourceOp;

struct Spelling {
    std::string name;
    Source source;
};
std::ostream& operator<<(std::ostream& out, Spelling const& spelling) { return out << spelling.name; }

SourceOp op(std::string out, std::string name, std::vector<std::string> in, Attributes attributes = {}) {
    return {{std::move(out)}, std::move(name), std::move(in), std::move(attributes)};
}
Attributes permuted(std::vector<double> const& order) {
    return Attributes().with(program::AttributeName::permutation, order);
}

/// Queries, keys and values of two dimensions; keys in columns.
Source flat(std::int64_t keys, std::vector<SourceOp> ops) {
    return {.dims = {{"Q", 96}, {"D", 64}, {"K", keys}, {"E", 64}},
            .inputs = {{"q", {"Q", "D"}}, {"k", {"D", "K"}}, {"v", {"K", "E"}}},
            .ops = std::move(ops),
            .outputs = {"o"}};
}
/// Keys in rows, as they are stored.
Source in_rows(std::int64_t keys, std::vector<SourceOp> ops) {
    auto out = flat(keys, std::move(ops));
    out.inputs[1].dims = {"K", "D"};
    return out;
}
Source batched(std::vector<std::string> const& batch, std::int64_t keys, std::vector<SourceOp> ops) {
    auto out = flat(keys, std::move(ops));
    for (auto const& dim : batch) out.dims.push_back({dim, dim == "B" ? 2 : 8});
    for (auto& input : out.inputs) input.dims.insert(input.dims.begin(), batch.begin(), batch.end());
    return out;
}

/// From scores `s` on, op by op.
std::vector<SourceOp> primitives(std::vector<SourceOp> first, std::vector<SourceOp> const& last) {
    for (auto const& next : {op("m", "max", {"s"}, Attributes::axis(-1)), op("d", "sub", {"s", "m"}),
                             op("e", "exp", {"d"}), op("t", "sum", {"e"}, Attributes::axis(-1))})
        first.push_back(next);
    first.insert(first.end(), last.begin(), last.end());
    return first;
}

std::vector<Spelling> spellings() {
    auto const scores = op("s", "matmul", {"q", "k"});
    auto const softmax = op("p", "softmax", {"s"});
    auto const product = op("o", "matmul", {"p", "v"});
    auto const turned = op("t", "transpose", {"k"});
    return {
        {"plain", flat(3072, {scores, softmax, product})},
        {"odd_number_of_keys", flat(3000, {scores, softmax, product})},
        {"keys_in_rows_scaled_after",
         in_rows(3072, {turned, op("u", "matmul", {"q", "t"}), op("s", "mul", {"u", "0.125"}), softmax, product})},
        {"keys_in_rows_odd",
         in_rows(3000, {op("u", "matmul_nt", {"q", "k"}), op("s", "div", {"u", "8"}), softmax, product})},
        {"queries_scaled_before",
         flat(3072, {op("h", "mul", {"q", "0.125"}), op("s", "matmul", {"h", "k"}), softmax, product})},
        {"keys_scaled_before",
         flat(3000, {op("h", "mul", {"0.125", "k"}), op("s", "matmul", {"q", "h"}), softmax, product})},
        {"primitives", flat(3072, primitives({scores}, {op("p", "div", {"e", "t"}), product}))},
        {"primitives_divided_last",
         flat(3000, primitives({scores}, {op("n", "matmul", {"e", "v"}), op("o", "div", {"n", "t"})}))},
        {"primitives_with_a_reciprocal",
         flat(3072, primitives({scores}, {op("r", "reciprocal", {"t"}), op("p", "mul", {"r", "e"}), product}))},
        {"three_dimensions", batched({"H"}, 3000, {scores, softmax, product})},
        {"three_dimensions_keys_in_rows",
         [&] {
             auto out = batched(
                 {"H"}, 3072,
                 {op("t", "transpose", {"k"}, permuted({0, 2, 1})), op("s", "matmul", {"q", "t"}), softmax, product});
             out.inputs[1].dims = {"H", "K", "D"};
             return out;
         }()},
        {"four_dimensions_scaled",
         batched({"B", "H"}, 3072, {op("u", "matmul", {"q", "k"}), op("s", "div", {"u", "8"}), softmax, product})},
    };
}

class Attention : public ::testing::TestWithParam<Spelling> {};

/// Online softmax: products of every step are combined by their maxima.
TEST_P(Attention, is_one_kernel_with_online_softmax) {
    MugraphConfig config;
    config.program = GetParam().source;

    auto const found = FirstFound(config).run([](Graph const& graph) {
        return is_looped_kernel(graph) && uses(graph.bodies[0], OpCode::accumulate_rescaled) &&
               uses(graph.bodies[0], OpCode::accumulate_rescaled_sum);
    });

    EXPECT_TRUE(found);
}

INSTANTIATE_TEST_SUITE_P(Spelled, Attention, ::testing::ValuesIn(spellings()),
                         [](auto const& one) { return one.param.name; });

/// The stage in which a second kernel combines what the first made of parts of the keys.
int combining_stage(MugraphConfig const& config) {
    auto const stages = make_space(config).stages;
    auto const at = std::ranges::find(stages, true, &Limits::combines);
    EXPECT_NE(at, stages.end());
    return static_cast<int>(at - stages.begin());
}

/// Maxima, sums and products of parts of the keys, put together with exp(m_i - m) by a second kernel.
bool splits_keys(Graph const& graph) {
    if (program::kernel_count(graph) != 2 || program::graph_kernel_count(graph) != 2) return false;
    auto const &parts = graph.bodies[0], &whole = graph.bodies[1];
    auto const has_maximum = uses(parts, OpCode::max) || uses(parts, OpCode::accumulate_max);
    auto const blocks = parts.schedule.grid;
    return has_maximum && parts.outputs.size() == 3 && uses(whole, OpCode::accumulate_rescaled) &&
           whole.schedule.loop > 1 && std::ranges::count(blocks, whole.schedule.loop) > 0;
}

TEST(SplitKeys, are_two_kernels_for_256_rows_and_for_one) {
    for (std::int64_t const queries : {64, 1}) {
        MugraphConfig config;
        config.program = program::find_builtin("gqa")->make({1, queries == 1 ? 2 : 8, 2, queries, 4096, 64, 1});

        EXPECT_TRUE(FirstFound(config).run(splits_keys, {.first = combining_stage(config)})) << queries;
    }
}

TEST(SplitKeys, keep_the_maximum) {
    MugraphConfig config;
    config.program = program::find_builtin("gqa")->make({1, 8, 2, 4, 64, 16, 1});
    auto const stage = combining_stage(config);
    int seen = 0;

    auto const without = FirstFound(config).run(
        [&](Graph const& graph) {
            ++seen;
            return std::ranges::none_of(graph.bodies, [](Graph const& body) {
                return uses(body, OpCode::max) || uses(body, OpCode::accumulate_max);
            });
        },
        {.first = stage, .last = stage});

    EXPECT_FALSE(without) << program::to_text(*without);
    EXPECT_GT(seen, 0);
}

} // namespace
} // namespace espalier::problems::mugraph
