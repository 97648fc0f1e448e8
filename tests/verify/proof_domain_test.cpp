#include "espalier/verify/proof.hpp"

#include <gtest/gtest.h>

/// Where a candidate is defined: every law of the prover whose two sides do not have one domain, both ways round.
namespace espalier::verify {
namespace {

using namespace program;
using enum OpCode;
using Ops = std::vector<Op>;

/// Ops on a, b, c (tensors 0, 1, 2; ops follow from 3); the last one is the output.
Graph of(Ops ops, Shape const& shape = {4, 6}) {
    Graph out{.inputs = {{"a", shape}, {"b", shape}, {"c", shape}}, .ops = std::move(ops)};
    out.outputs = {2 + static_cast<int>(out.ops.size())};
    return out;
}
Proof prove(Graph const& reference, Graph const& candidate) { return Prover(reference).prove(candidate); }

struct OneWay {
    char const* name;
    Graph smaller; ///< domain: a reference that the other may replace
    Graph larger;
};
std::vector<OneWay> one_way_laws() {
    Ops const positive{{exp, {}, {1}}, {exp, {}, {2}}}; // 3, 4
    auto const with = [&](Ops more) {
        auto out = positive;
        out.insert(out.end(), more.begin(), more.end());
        return of(out);
    };
    return {
        {"sqrt(a)^2, sqrt(a^2)", of({{sqrt, {}, {0}}, {square, {}, {3}}}), of({{square, {}, {0}}, {sqrt, {}, {3}}})},
        {"sqrt(a) sqrt(b), sqrt(a b)", of({{sqrt, {}, {0}}, {sqrt, {}, {1}}, {mul, {}, {3, 4}}}),
         of({{mul, {}, {0, 1}}, {sqrt, {}, {3}}})},
        {"sqrt(a) sqrt(a), rms of one value", of({{sqrt, {}, {0}}, {sqrt, {}, {0}}, {mul, {}, {3, 4}}}, {4, 1}),
         of({{rms, {}, {0}}}, {4, 1})},
        {"sqrt(a) sqrt(e^b), sqrt(a e^b) has one domain; with b in place of e^b it has not",
         with({{sqrt, {}, {0}}, {sqrt, {}, {1}}, {mul, {}, {5, 6}}}), with({{mul, {}, {0, 1}}, {sqrt, {}, {5}}})},
        {"a / (b / c), a c / b", of({{div, {}, {1, 2}}, {div, {}, {0, 3}}}),
         of({{mul, {}, {0, 2}}, {div, {}, {3, 1}}})},
        {"b - b + a / c - a / c, b - b", of({{div, {}, {0, 2}}, {sub, {}, {3, 3}}, {add, {}, {4, 1}}}),
         of({{sub, {}, {0, 0}}, {add, {}, {3, 1}}})},
        {"sqrt(a) - sqrt(a) + b, b", of({{sqrt, {}, {0}}, {sub, {}, {3, 3}}, {add, {}, {4, 1}}}),
         of({{sub, {}, {0, 0}}, {add, {}, {3, 1}}})},
        {"a^b - a^b + b, b", of({{pow, {}, {0, 1}}, {sub, {}, {3, 3}}, {add, {}, {4, 1}}}),
         of({{sub, {}, {0, 0}}, {add, {}, {3, 1}}})},
        {"sum of a norm's differences, 0", of({{rms_norm, {}, {0}}, {sub, {}, {3, 3}}, {add, {}, {4, 1}}}),
         of({{sub, {}, {0, 0}}, {add, {}, {3, 1}}})},
    };
}

TEST(ProofDomain, a_law_whose_sides_have_two_domains_is_used_one_way_only) {
    for (auto const& [name, smaller, larger] : one_way_laws()) {
        SCOPED_TRACE(name);
        auto const there = prove(smaller, larger), back = prove(larger, smaller);

        EXPECT_TRUE(there.is_proved && there.is_defined) << there.reason;
        EXPECT_FALSE(back.is_proved || back.is_defined);
    }
}

struct BothWays {
    char const* name;
    Graph first, second;
};
std::vector<BothWays> two_way_laws() {
    return {
        {"(a / b) / c, a / (b c)", of({{div, {}, {0, 1}}, {div, {}, {3, 2}}}),
         of({{mul, {}, {1, 2}}, {div, {}, {0, 3}}})},
        {"a / s / t, a / (s t) of sums s, t",
         of({{sum, {}, {1}}, {sum, {}, {2}}, {div, {}, {0, 3}}, {div, {}, {5, 4}}}),
         of({{sum, {}, {1}}, {sum, {}, {2}}, {mul, {}, {3, 4}}, {div, {}, {0, 5}}})},
        {"a / e^b, a e^-b", of({{exp, {}, {1}}, {div, {}, {0, 3}}}),
         of({{sub, {}, {1, 1}}, {sub, {}, {3, 1}}, {exp, {}, {4}}, {mul, {}, {0, 5}}})},
        {"sqrt(e^a) sqrt(b^2), sqrt(e^a b^2)",
         of({{exp, {}, {0}}, {square, {}, {1}}, {sqrt, {}, {3}}, {sqrt, {}, {4}}, {mul, {}, {5, 6}}}),
         of({{exp, {}, {0}}, {square, {}, {1}}, {mul, {}, {3, 4}}, {sqrt, {}, {5}}})},
        {"squares of sums are not negative",
         of({{sum, {}, {0}}, {square, {}, {3}}, {sqrt, {}, {4}}, {mul, {}, {5, 1}}}),
         of({{sum, {}, {0}}, {mul, {}, {3, 3}}, {sqrt, {}, {4}}, {mul, {}, {1, 5}}})},
        {"roots of roots", of({{sqrt, {}, {0}}, {sqrt, {}, {3}}, {sqrt, {}, {4}}, {sqrt, {}, {4}}, {mul, {}, {5, 6}}}),
         of({{sqrt, {}, {0}}, {sqrt, {}, {3}}, {sqrt, {}, {4}}, {square, {}, {5}}})},
        {"sqrt(a) sqrt(b) sqrt(c) in another order",
         of({{sqrt, {}, {0}}, {sqrt, {}, {1}}, {sqrt, {}, {2}}, {mul, {}, {3, 4}}, {mul, {}, {6, 5}}}),
         of({{sqrt, {}, {2}}, {sqrt, {}, {1}}, {sqrt, {}, {0}}, {mul, {}, {3, 4}}, {mul, {}, {5, 6}}})},
        {"a norm by hand", of({{rms_norm, {}, {0}}}), of({{rms, {}, {0}}, {div, {}, {0, 3}}})},
        {"a softmax divided early or late",
         of({{exp, {}, {0}}, {sum, {}, {3}}, {div, {}, {3, 4}}, {mul, {}, {5, 1}}, {sum, {}, {6}}}),
         of({{exp, {}, {0}}, {sum, {}, {3}}, {mul, {}, {3, 1}}, {sum, {}, {5}}, {div, {}, {6, 4}}})},
        {"a power of an exponential is defined", of({{exp, {}, {0}}, {pow, {}, {3, 1}}, {add, {}, {4, 2}}}),
         of({{exp, {}, {0}}, {pow, {}, {3, 1}}, {add, {}, {2, 4}}})},
        {"the same power", of({{pow, {}, {0, 1}}, {add, {}, {3, 2}}}), of({{pow, {}, {0, 1}}, {add, {}, {2, 3}}})},
    };
}

TEST(ProofDomain, a_law_whose_sides_have_one_domain_is_used_both_ways) {
    for (auto const& [name, first, second] : two_way_laws()) {
        SCOPED_TRACE(name);
        auto const there = prove(first, second), back = prove(second, first);

        EXPECT_TRUE(there.is_proved && there.is_defined) << there.reason;
        EXPECT_TRUE(back.is_proved && back.is_defined) << back.reason;
    }
}

TEST(ProofDomain, what_one_factor_needs_is_no_excuse_for_another) {
    auto const reference = of({{sqrt, {}, {0}}, {mul, {}, {3, 1}}});
    // b may be negative, c may be 0
    auto const with_root_of_b = of({{mul, {}, {0, 1}}, {sqrt, {}, {3}}, {add, {}, {4, 2}}});
    auto const with_root_of_square = of({{mul, {}, {0, 1}}, {mul, {}, {3, 1}}, {sqrt, {}, {4}}, {add, {}, {5, 2}}});
    auto const over_c = of({{sqrt, {}, {0}}, {mul, {}, {3, 1}}, {mul, {}, {4, 2}}, {div, {}, {5, 2}}});

    EXPECT_FALSE(prove(reference, with_root_of_b).is_defined);
    EXPECT_TRUE(prove(reference, with_root_of_square).is_defined);
    EXPECT_FALSE(prove(reference, over_c).is_defined);
}

TEST(ProofDomain, a_condition_holds_for_other_tiles_of_the_same_elements) {
    // sum over k of a[i, k] / b[i, k], whole and in three steps of two columns; and with the divisor of a column only
    auto const plain = of({{div, {}, {0, 1}}, {sum, {}, {3}}});
    Schedule const schedule{.loop = 3, .inputs = {{.loop = 1}, {.loop = 1}}, .output = {0, -1, -1}};
    Graph block{.level = Level::block, .inputs = {{"", {4, 2}}, {"", {4, 2}}}, .schedule = schedule};
    block.ops = {{div, {}, {0, 1}}, {accumulate_sum, {}, {2}}};
    block.outputs = {3};
    auto looped = of({{graph, {}, {0, 1}, 0}});
    looped.bodies = {block};

    EXPECT_TRUE(prove(plain, looped).is_proved);
    EXPECT_TRUE(prove(looped, plain).is_proved);

    looped.bodies[0].ops = {{div, {}, {0, 1}}, {accumulate_sum, {}, {2}}, {rms, {}, {3}}, {div, {}, {3, 4}}};
    looped.bodies[0].outputs = {5};
    EXPECT_FALSE(prove(plain, looped).is_defined);
}

TEST(ProofDomain, every_output_must_be_defined) {
    auto reference = of({{add, {}, {0, 1}}, {add, {}, {1, 2}}});
    auto candidate = of({{add, {}, {1, 0}}, {div, {}, {1, 2}}, {mul, {}, {4, 2}}});
    reference.outputs = {3, 4};
    candidate.outputs = {3, 5};

    EXPECT_FALSE(prove(reference, candidate).is_defined);
    candidate.outputs = {5, 3};
    EXPECT_FALSE(prove(reference, candidate).is_defined);
}

TEST(ProofDomain, a_program_that_is_defined_everywhere_is_so_even_if_it_is_too_large_to_prove) {
    Ops powers{{add, {}, {0, 1}}};
    for (int i = 0; i < 20; ++i) powers.push_back({square, {}, {3 + i}});
    auto with_root = powers;
    with_root.push_back({sqrt, {}, {0}});

    EXPECT_TRUE(prove(of(powers), of(powers)).is_defined);
    EXPECT_FALSE(prove(of(powers), of(with_root)).is_defined);
}

} // namespace
} // namespace espalier::verify
