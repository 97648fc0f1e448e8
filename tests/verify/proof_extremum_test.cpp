#include "espalier/base/rng.hpp"
#include "espalier/program/text.hpp"
#include "espalier/verify/evaluate.hpp"
#include "espalier/verify/proof.hpp"
#include "espalier/verify/reference.hpp"

#include "support/doubles.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

/// Maxima, minima and the accumulators of online softmax: equal programs are proved and evaluate alike, others are
/// not. A plain interpreter on doubles stands beside every claim.
namespace espalier::verify {
namespace {

using program::Graph;

Graph program_of(std::string const& ops) {
    return program::parse_text("program f16\n  X = input [4, 12]\n  Y = input [4, 12]\n" + ops, "test");
}
std::string const safe_softmax = "  m = max X\n  d = sub X m\n  e = exp d\n  s = sum e\n  z = div e s\n  output z\n";
std::string const plain_softmax = "  e = exp X\n  s = sum e\n  z = div e s\n  output z\n";

/// softmax(Q K^T) V, with what is done to the scores.
Graph attention(std::string const& scores) {
    return program::parse_text(
        fmt::format(
            "program f16\n  Q = input [4, 3]\n  K = input [12, 3]\n  V = input [12, 2]\n  s = matmul_nt Q K\n{}"
            "  m = max t\n  d = sub t m\n  e = exp d\n  l = sum e\n  p = div e l\n  o = matmul p V\n  output o\n",
            scores),
        "test");
}
/// The same in one kernel over 4 blocks of rows and 3 steps of keys.
Graph online(std::string const& ops) {
    return program::parse_text(
        fmt::format("program f16\n  Q = input [4, 3]\n  K = input [12, 3]\n  V = input [12, 2]\n"
                    "  o = kernel grid [4] loop 3 threads 128 {{\n    q = tile Q (grid x: 0)\n"
                    "    k = tile K (loop: 0)\n    v = tile V (loop: 0)\n{}    store z (grid x: 0)\n"
                    "  }}\n  output o\n",
                    ops),
        "test");
}
std::string const online_ops = "    s = matmul_nt q k\n    m = max s\n    d = sub s m\n    e = exp d\n"
                               "    l = accumulate_rescaled_sum e m\n    p = matmul e v\n"
                               "    o = accumulate_rescaled p m\n    z = div o l\n";

bool is_proved(Graph const& a, Graph const& b) { return Prover(a).prove(b).is_proved; }
bool is_equal_in_doubles(Graph const& a, Graph const& b) {
    base::Rng rng{base::Seed{3}};
    auto const all = doubles::telling_inputs(a, rng);
    return std::ranges::all_of(all, [&](auto const& inputs) { return doubles::is_replaced_by(a, b, inputs); });
}
bool is_equal_in_fields(Graph const& a, Graph const& b) {
    Draw const draw{.seed = 5};
    auto const first = evaluate(a, draw), second = evaluate(b, draw);
    EXPECT_EQ(first.status, OpStatus::done);
    EXPECT_EQ(first, evaluate_reference(a, draw));
    EXPECT_EQ(second, evaluate_reference(b, draw));
    return first.outputs[0].p == second.outputs[0].p;
}
void expect_equal(Graph const& a, Graph const& b) {
    EXPECT_TRUE(is_equal_in_doubles(a, b));
    EXPECT_TRUE(is_equal_in_fields(a, b));
    EXPECT_TRUE(is_proved(a, b)) << Prover(a).prove(b).reason;
    EXPECT_TRUE(is_proved(b, a)) << Prover(b).prove(a).reason;
}
void expect_different(Graph const& a, Graph const& b) {
    EXPECT_FALSE(is_equal_in_doubles(a, b));
    EXPECT_FALSE(is_proved(a, b));
    EXPECT_FALSE(is_proved(b, a));
}

TEST(ProofExtremum, a_shift_cancels_in_a_softmax) {
    expect_equal(program_of(safe_softmax), program_of(plain_softmax));
    auto const shifted = program_of("  a = shift X (by: 3)\n  e = exp a\n  s = sum e\n  z = div e s\n  output z\n");
    expect_equal(program_of(safe_softmax), shifted);
}
TEST(ProofExtremum, only_a_shift_of_the_whole_row_cancels) {
    expect_different(
        program_of(plain_softmax),
        program_of("  m = max X\n  d = sub X m\n  e = exp d\n  f = exp X\n  s = sum f\n  z = div e s\n  output z\n"));
    expect_different(program_of(plain_softmax),
                     program_of("  a = scale X (by: 2)\n  e = exp a\n  s = sum e\n  z = div e s\n  output z\n"));
}
TEST(ProofExtremum, maxima_are_associative_commutative_and_idempotent) {
    auto const of = [](std::string const& ops) { return program_of(ops + "  output z\n"); };
    auto const both = of("  a = maximum X Y\n  z = max a\n");
    expect_equal(both, of("  a = max Y\n  b = max X\n  z = maximum a b\n"));
    expect_equal(both, of("  a = maximum Y X\n  b = maximum a X\n  z = max b\n"));
    expect_different(both, of("  a = max X\n  b = min Y\n  z = maximum a b\n"));
    expect_different(both, of("  a = minimum X Y\n  z = max a\n"));
    expect_different(both, of("  a = add X Y\n  z = max a\n"));
}
TEST(ProofExtremum, a_loop_takes_the_largest_of_the_largest) {
    auto const looped = [](std::string const& op) {
        return program_of("  o = kernel grid [2] loop 3 threads 128 {\n    x = tile X (grid x: 0, loop: 1)\n"
                          "    y = tile Y (grid x: 0, loop: 1)\n    a = maximum x y\n    z = " +
                          op + " a\n    store z (grid x: 0)\n  }\n  output o\n");
    };
    auto const whole = program_of("  a = maximum X Y\n  z = max a\n  output z\n");
    expect_equal(whole, looped("accumulate_max"));
    expect_different(whole, looped("accumulate_min"));
    expect_different(whole, looped("accumulate_sum"));
}
TEST(ProofExtremum, online_softmax_is_softmax) {
    expect_equal(attention("  t = scale s (by: 1)\n"), online(online_ops));
}
TEST(ProofExtremum, a_scale_moves_with_the_scores) {
    auto const scaled =
        "    r = matmul_nt q k\n    s = scale r (by: 0.125)\n" + online_ops.substr(online_ops.find('\n') + 1);
    expect_equal(attention("  t = scale s (by: 0.125)\n"), online(scaled));
    expect_different(attention("  t = scale s (by: 0.25)\n"), online(scaled));
}
TEST(ProofExtremum, steps_that_are_not_rescaled_are_wrong) {
    auto const with = [](std::string const& from, std::string const& to) {
        auto ops = online_ops;
        return online(ops.replace(ops.find(from), from.size(), to));
    };
    auto const right = attention("  t = scale s (by: 1)\n");
    expect_different(right, with("accumulate_rescaled_sum e m", "accumulate_sum e"));
    expect_different(right, with("accumulate_rescaled p m", "accumulate p"));
    expect_different(right, with("sub s m", "add s m"));
}
TEST(ProofExtremum, a_constant_is_the_decimal_as_written) {
    auto const of = [](std::string const& ops) { return program_of(ops + "  output z\n"); };
    expect_equal(of("  a = scale X (by: 0.1)\n  z = scale a (by: 10)\n"),
                 of("  a = scale X (by: 2)\n  z = scale a (over: 2)\n"));
    expect_equal(of("  z = scale X (by: 1, over: 3)\n"), of("  a = scale X (by: 2)\n  z = scale a (over: 6)\n"));
    expect_different(of("  z = scale X (by: 0.1)\n"), of("  z = scale X (by: 0.2)\n"));
}
TEST(ProofExtremum, eps_is_added_below_the_root) {
    auto const of = [](std::string const& ops) { return program_of(ops + "  output z\n"); };
    auto const parts = "  q = square X\n  s = sum q\n  v = scale s (over: 12)\n  e = shift v (by: 0.001)\n  r = sqrt "
                       "e\n  z = div X r\n";
    expect_equal(of("  z = rms_norm X (eps: 0.001)\n"), of(parts));
    expect_equal(of("  c = center X\n  r = rms c (eps: 0.5)\n  z = div c r\n"), of("  z = layer_norm X (eps: 0.5)\n"));
    expect_different(of("  z = rms_norm X (eps: 0.001)\n"), of("  z = rms_norm X (eps: 0.5)\n"));
}
TEST(ProofExtremum, a_norm_with_eps_is_defined_everywhere_and_one_without_is_not) {
    auto const of = [](std::string const& ops) { return program_of(ops + "  output z\n"); };
    EXPECT_FALSE(
        Prover(of("  r = rms X (eps: 1)\n  z = div X r\n")).prove(of("  r = rms X\n  z = div X r\n")).is_defined);
    EXPECT_FALSE(Prover(of("  z = mul X Y\n")).prove(of("  l = log X\n  e = exp l\n  z = mul e Y\n")).is_defined);
}
TEST(ProofExtremum, transposes_are_read_through) {
    auto const of = [](std::string const& ops) { return program_of(ops + "  output z\n"); };
    expect_equal(of("  z = matmul_nt X Y\n"), of("  t = transpose Y\n  z = matmul X t\n"));
    expect_equal(of("  z = matmul_nt X Y\n"), of("  a = matmul_nt Y X\n  z = transpose a (permutation: [1, 0])\n"));
    expect_different(of("  z = matmul_nt X Y\n"), of("  z = matmul_nt Y X\n"));
}

} // namespace
} // namespace espalier::verify
