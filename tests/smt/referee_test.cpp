#include "espalier/smt/referee.hpp"

#include "expr/random_terms.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace espalier::smt {
namespace {

using namespace expr;
using testing::HasSubstr;
using testing::Not;
using Native = Expressions::Answer;
using Proof = Referee::Answer;

class RefereeOnTerms : public testing::Test {
protected:
    Expressions in;
    Term const x = leaf(in, 0), w = leaf(in, 1), v = leaf(in, 2);

    Referee referee(Term target, std::uint32_t rlimit = 400'000) { return {in, {target.id}, {.rlimit = rlimit}}; }
    std::uint32_t pattern() { return in.pattern(f_splits_k()); }
    void expect_proved(Referee& z3, std::vector<Term> const& terms) {
        for (auto const t : terms) EXPECT_EQ(z3.is_part(t.id, pattern()), Proof::proved) << t;
    }
    void expect_unknown(Referee& z3, std::vector<Term> const& terms) {
        for (auto const t : terms) EXPECT_EQ(z3.is_part(t.id, pattern()), Proof::unknown) << t;
    }
};

TEST_F(RefereeOnTerms, proves_the_parts_of_rms_norm_and_a_linear_layer) {
    auto const norm = x / rms(K, x);
    auto z3 = referee(sum(K, norm * w));

    expect_proved(z3, {x, w, x * w, rms(K, x), norm, norm * w, sum(K, x * w), sum(K, x), sum(K, norm), w / rms(K, x)});
    expect_proved(z3, {sum(K / F, x * w), sum(F, x * w), sum(F, sum(K / F, x)), sum(K, x * w) / rms(K, x)});
}

TEST_F(RefereeOnTerms, proves_the_parts_of_a_gated_mlp) {
    auto const gate = silu(sum(K, x * w)), up = sum(K, x * v);
    auto z3 = referee(gate * up);

    expect_proved(z3, {x * w, sum(K, x * w), gate, up, gate * x, gate * v, sum(K, gate), sum(K / F, x * v)});
}

TEST_F(RefereeOnTerms, proves_by_the_laws_of_exponentials_and_roots) {
    auto z3 = referee(exp(x + w + v) / sqrt(x * w));

    expect_proved(z3, {exp(x), exp(x + v), w + v, sqrt(x), sqrt(w), x * w, exp(x) / sqrt(w)});
}

TEST_F(RefereeOnTerms, never_proves_what_is_no_part) {
    auto z3 = referee(sum(K, x / rms(K, x) * w), 50'000);

    expect_unknown(z3, {x * x, x + w, x / w, x / x, rms(K, w), rms(N, x), sum(N, x), sum(F * F, x), v, silu(x)});
}

TEST_F(RefereeOnTerms, knows_functions_of_several_arguments) {
    Term const power{&in, in.call(OpCode::pow, {}, {{(x * w).id, v.id}})};
    Term const other{&in, in.call(OpCode::pow, {}, {{v.id, (x * w).id}})};
    auto z3 = referee(sum(K, power), 50'000);

    expect_proved(z3, {power, v, w, x * w});
    expect_unknown(z3, {other});
}

TEST_F(RefereeOnTerms, accepts_the_parts_of_every_target) {
    Referee z3(in, {(x * w).id, silu(v).id});

    expect_proved(z3, {x, v, silu(v)});
    EXPECT_EQ(z3.statistics().queries, 3u);
}

TEST_F(RefereeOnTerms, asks_once) {
    auto z3 = referee(x * w, 20'000);

    expect_proved(z3, {x, x});
    expect_unknown(z3, {v, v}); // whether Z3 gives up or finds a model in which v is not a part
    expect_unknown(z3, {v});

    EXPECT_EQ(z3.statistics().queries, 2u);
}

TEST_F(RefereeOnTerms, does_not_know_what_nobody_has_built) {
    auto z3 = referee(x * w);

    EXPECT_EQ(z3.is_part(Expressions::too_large), Proof::unknown);
    EXPECT_EQ(z3.question(Expressions::too_large), "");
    EXPECT_EQ(z3.statistics().queries, 0u);
}

TEST_F(RefereeOnTerms, says_only_what_the_question_needs) {
    auto z3 = referee(sum(K, x * w));
    auto const text = z3.question(sum(K / F, x).id, pattern());

    EXPECT_THAT(text, HasSubstr("(assert (forall ((x E)) (= (sum s_0p1 x) (sum s_0p1_3m1 (sum s_3p1 x)))))"));
    EXPECT_THAT(text, Not(HasSubstr("exponential")));
    EXPECT_THAT(text, Not(HasSubstr("x2")));
}

/// All that one, two or three operations make of the inputs of RMSNorm and a linear layer.
std::set<ExprId> near_rms_norm(Expressions& in) {
    std::set<ExprId> all{in.leaf(0), in.leaf(1)};
    auto const norm = in.call(OpCode::rms, K, {{in.leaf(0)}});
    for (int round = 0; round < 2; ++round) {
        auto const before = all;
        for (auto const a : before) {
            all.insert({in.sum(K, a), in.sum(K / F, a), in.sum(F, a), in.div(a, norm)});
            if (round == 0)
                for (auto const b : before) all.insert({in.mul(a, b), in.add(a, b), in.div(a, b)});
        }
    }
    return all;
}

TEST(Referee, agrees_on_what_a_search_for_rms_norm_and_a_linear_layer_meets) {
    Expressions in;
    auto const x = leaf(in, 0), w = leaf(in, 1);
    auto const target = sum(K, x / rms(K, x) * w);
    auto const asked = near_rms_norm(in);
    in.set_targets({{target.id}});
    Referee z3(in, {target.id}, {.rlimit = 40'000});
    int yes = 0, proved = 0;

    for (auto const e : asked) {
        auto const native = in.is_part(e, in.pattern(f_splits_k()));
        auto const is_proved = z3.is_part(e, in.pattern(f_splits_k())) == Proof::proved;
        yes += native == Native::yes;
        proved += is_proved;
        EXPECT_TRUE(!is_proved || native == Native::yes) << in.text(e, symbol_names);
    }

    EXPECT_GT(asked.size(), 50u);
    EXPECT_GT(proved, yes * 9 / 10);
    EXPECT_LT(yes, static_cast<int>(asked.size()) / 2);
}

TEST(Referee, proves_nothing_that_the_normal_forms_deny) {
    int yes = 0, proved = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        Expressions in;
        RandomTerms random(in, seed);
        auto const inner = random.term(2), whole = random.context(inner, 4);
        auto const e = seed % 2 == 0 ? inner : random.term(2);
        if (!is_small(whole)) continue;
        Referee z3(in, {whole.id}, {.rlimit = 40'000});
        in.set_targets({{whole.id}});

        auto const native = in.is_part(e.id, in.pattern(f_splits_k()));
        auto const is_proved = z3.is_part(e.id, in.pattern(f_splits_k())) == Proof::proved;

        ASSERT_TRUE(!is_proved || native == Native::yes) << seed << ": " << e << " in " << whole;
        yes += native == Native::yes;
        proved += is_proved;
    }
    EXPECT_GT(proved, yes * 9 / 10);
    EXPECT_GT(proved, 100);
}

} // namespace
} // namespace espalier::smt
