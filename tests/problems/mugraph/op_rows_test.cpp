#include "programs.hpp"

#include "espalier/problems/mugraph/space.hpp"
#include "espalier/verify/compare.hpp"
#include "espalier/verify/proof.hpp"
#include "espalier/verify/real.hpp"

#include <gmock/gmock.h>

#include <algorithm>

/// What rows of the op table offer to the spaces, and an op that came as a row only: tanh.
namespace espalier::problems::mugraph {
namespace {

using program::Graph;
using program::OpCode;
using Codes = std::vector<OpCode>;

Codes codes(std::vector<SearchOp> const& ops) {
    Codes out;
    for (auto const& op : ops) out.push_back(op.code());
    return out;
}
Codes operator+(Codes a, Codes const& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

using enum OpCode;
Codes const products{matmul};
Codes const always{exp, square, OpCode::sqrt, silu, gelu, relu, add, mul, OpCode::div, OpCode::pow};
Codes const accumulators{accumulate, accumulate_sum, accumulate_rms};

/// One op after the other on X, each as `Y<i>`.
MugraphConfig chain(std::vector<std::string> const& ops, SpaceConfig::Preset preset) {
    MugraphConfig config;
    config.program.dims = {{"B", 4}, {"K", 8}};
    config.program.inputs = {{"Y0", {"B", "K"}}};
    for (std::size_t i = 0; i < ops.size(); ++i) {
        auto const x = "Y" + std::to_string(i);
        std::vector<std::string> const in(ops[i] == "sub" ? 2 : 1, x);
        config.program.ops.push_back({{"Y" + std::to_string(i + 1)}, ops[i], in, {}});
    }
    config.program.outputs = {"Y" + std::to_string(ops.size())};
    config.space.from = preset;
    return config;
}
constexpr auto in_full = SpaceConfig::Preset::full, in_mirage = SpaceConfig::Preset::mirage;

// The lists as they were written out, op by op, before they came from rows. Mirage's are those of its configuration.
TEST(OpRows, give_mirage_the_lists_that_it_has) {
    auto const norm = make_space(mirage("rmsnorm_linear", {2, 4096, 6144}));
    EXPECT_EQ(codes(norm.kernel_ops), products + always);
    EXPECT_EQ(codes(norm.block_ops), products + always + Codes{rms_norm} + accumulators);
    EXPECT_EQ(codes(norm.unlooped_block_ops), codes(norm.block_ops));

    auto const attention = make_space(mirage("gqa", {2, 16, 1, 16, 1024, 64}));
    EXPECT_EQ(codes(attention.block_ops),
              products + always + Codes{rms_norm} + accumulators + Codes{accumulate_sum_to});
    auto const lora = make_space(mirage("lora", {16, 256, 4096, 16}));
    EXPECT_EQ(codes(lora.block_ops), products + always + Codes{rms_norm} + accumulators + Codes{concat_matmul});
    EXPECT_EQ(codes(make_space(chain({"clamp", "sub"}, in_mirage)).kernel_ops), products + always + Codes{clamp});
}

TEST(OpRows, give_the_full_space_what_the_program_has_besides) {
    auto const plain = make_space(full("gated_mlp", {8, 64, 64}));
    EXPECT_EQ(codes(plain.kernel_ops), products + always);
    EXPECT_EQ(codes(plain.block_ops), products + Codes{concat_matmul} + always + Codes{rms_norm} + accumulators);
    EXPECT_EQ(codes(plain.unlooped_block_ops), (products + Codes{concat_matmul} + always + Codes{sum, rms}));

    auto const more = make_space(chain({"sub", "clamp", "layernorm"}, in_full));
    EXPECT_EQ(codes(more.kernel_ops), (products + always + Codes{clamp, layer_norm}));
    EXPECT_EQ(codes(more.block_ops), (products + Codes{concat_matmul} + always +
                                      Codes{clamp, center, sub, layer_norm, rms_norm} + accumulators));
}

TEST(OpRows, offer_tanh_to_programs_that_have_it) {
    for (auto const preset : {in_full, in_mirage})
        for (bool const has_it : {false, true}) {
            auto const space = make_space(chain({has_it ? "tanh" : "relu"}, preset));
            for (auto const* ops : {&space.kernel_ops, &space.block_ops, &space.unlooped_block_ops})
                EXPECT_EQ(std::ranges::count(*ops, OpCode::tanh, &SearchOp::code), has_it ? 1 : 0);
        }
}

bool has_op(Graph const& graph, OpCode code) {
    return std::ranges::count(graph.ops, code, &program::Op::code) > 0 ||
           std::ranges::any_of(graph.bodies, [&](Graph const& body) { return has_op(body, code); });
}

/// A function of X, times W, in at most one graph-defined kernel.
MugraphConfig function_and_linear(OpCode function) {
    auto config = two_kernels(SpaceConfig::Schedules::all);
    config.program.ops[0].op = program::name(function);
    config.space.block_ops = {matmul, function, accumulate};
    config.space.max_graph_kernels = 1;
    return config;
}

TEST(Tanh, is_searched_fused_and_proved_like_other_functions_without_laws) {
    auto const config = function_and_linear(OpCode::tanh);
    auto const walk = search(config), like = search(function_and_linear(relu));

    EXPECT_EQ(distinct(walk), distinct(like)) << "as many programs as with relu in its place";
    ASSERT_GT(walk.results.size(), 0u);
    for (auto const& result : walk.results) EXPECT_EQ(result.verification, like.results[0].verification);
    verify::Prover const prover(program::build(config.program));
    bool is_fused = false;
    for (auto const& graph : programs_of(walk)) {
        EXPECT_TRUE(has_op(graph, OpCode::tanh) && prover.prove(graph).is_proved);
        is_fused = is_fused || (program::kernel_count(graph) == 1 && program::largest_loop(graph) > 1);
    }
    EXPECT_TRUE(is_fused);
}

Graph of(OpCode function) {
    Graph out{.inputs = {{"x", {4, 6}}}, .ops = {{function, {}, {0}}}};
    out.outputs = {1};
    return out;
}

TEST(Tanh, is_no_other_function_in_finite_fields_in_proofs_or_in_floating_point) {
    for (auto const other : {silu, gelu, relu, square, exp}) {
        EXPECT_EQ(verify::compare(of(OpCode::tanh), of(other), {}).verdict, verify::Verdict::different);
        EXPECT_FALSE(verify::Prover(of(OpCode::tanh)).prove(of(other)).is_proved);
        EXPECT_NE(verify::RealReference(of(OpCode::tanh), {}).refute(of(other)), "");
    }
    EXPECT_EQ(verify::compare(of(OpCode::tanh), of(OpCode::tanh), {}).verdict, verify::Verdict::equal);
    EXPECT_EQ(verify::RealReference(of(OpCode::tanh), {}).refute(of(OpCode::tanh)), "");
}

} // namespace
} // namespace espalier::problems::mugraph
