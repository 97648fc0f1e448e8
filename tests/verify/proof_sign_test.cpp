#include "proof_sign.hpp"

#include "espalier/verify/proof.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

/// Signs against numbers: what is said about a value must hold for all values that its operands may have.
namespace espalier::verify {
namespace {

using namespace program;
using enum OpCode;
using proof::Sign;
using Numbers = std::vector<double>;

constexpr std::array signs{Sign::any, Sign::nonnegative, Sign::positive};

/// Some of the values that a sign allows.
Numbers numbers_of(Sign sign) {
    Numbers out{0.25, 1, 7};
    if (sign != Sign::positive) out.push_back(0);
    if (sign == Sign::any) out.insert(out.end(), {-0.25, -1, -9});
    return out;
}
/// The most that can be said about them.
Sign sign_of_all(Numbers const& numbers) {
    auto const least = *std::ranges::min_element(numbers);
    return least > 0 ? Sign::positive : least == 0 ? Sign::nonnegative : Sign::any;
}
Sign expected(Sign a, Sign b, std::function<double(double, double)> const& f) {
    Numbers out;
    for (auto const x : numbers_of(a))
        for (auto const y : numbers_of(b)) out.push_back(f(x, y));
    return sign_of_all(out);
}

TEST(ProofSign, of_products_and_sums_is_that_of_all_numbers) {
    for (auto const a : signs)
        for (auto const b : signs) {
            EXPECT_EQ(proof::product(a, b), expected(a, b, std::multiplies<>()));
            EXPECT_EQ(proof::total(a, b), expected(a, b, std::plus<>()));
        }
}

Sign sign_of_function(OpCode code, Attributes const& attributes, std::span<Sign const> arguments) {
    return info(code).sign(arguments, attributes);
}

double phi(double x) { return 0.5 * std::erfc(-x * std::sqrt(0.5)); }

TEST(ProofSign, of_functions_is_that_of_all_numbers) {
    Attributes const none;
    for (auto const sign : signs) {
        auto const of = [&](OpCode code, std::function<double(double)> const& f) {
            EXPECT_EQ(sign_of_function(code, none, std::array{sign}),
                      expected(sign, sign, [&](double x, double) { return f(x); }));
        };
        of(relu, [](double x) { return x > 0 ? x : 0; });
        of(silu, [](double x) { return x / (1 + std::exp(-x)); });
        of(gelu, [](double x) { return x * phi(x); });
        of(OpCode::tanh, [](double x) { return std::tanh(x); });
    }
    EXPECT_EQ(sign_of_function(pow, none, std::array{Sign::positive, Sign::any}), Sign::positive);
    EXPECT_EQ(sign_of_function(pow, none, std::array{Sign::any, Sign::any}), Sign::any);
}

TEST(ProofSign, of_a_clamp_is_that_of_all_numbers_between_its_bounds) {
    auto const infinity = std::numeric_limits<double>::infinity();
    for (auto const low : {-infinity, -2.0, 0.0, 0.5})
        for (auto const high : {-1.0, 0.0, 3.0, infinity})
            for (auto const sign : signs) {
                if (low > high) continue;
                Attributes bounds;
                if (low > -infinity) bounds = bounds.with(AttributeName::low, std::vector<double>{low});
                if (high < infinity) bounds = bounds.with(AttributeName::high, std::vector<double>{high});
                EXPECT_EQ(sign_of_function(clamp, bounds, std::array{sign}),
                          expected(sign, sign, [&](double x, double) { return std::clamp(x, low, high); }))
                    << low << " to " << high;
            }
}

/// Ops on a, b, c (tensors 0, 1, 2; ops follow from 3).
Graph of(std::vector<Op> ops, Shape const& shape = {4, 6}) {
    Graph out{.inputs = {{"a", shape}, {"b", shape}, {"c", shape}}, .ops = std::move(ops)};
    out.outputs = {2 + static_cast<int>(out.ops.size())};
    return out;
}
Sign sign_of_output(Graph const& graph) {
    proof::TypedGraph const typed(graph);
    return proof::sign_of({.typed = typed}, graph.outputs[0]);
}

TEST(ProofSign, of_tensors_follows_from_the_ops_that_make_them) {
    Op const exp_a{exp, {}, {0}}, exp_b{exp, {}, {1}}; // 3, 4
    EXPECT_EQ(sign_of_output(of({{square, {}, {0}}})), Sign::nonnegative);
    EXPECT_EQ(sign_of_output(of({exp_a, {square, {}, {3}}})), Sign::positive);
    EXPECT_EQ(sign_of_output(of({exp_a, exp_b, {sub, {}, {3, 4}}})), Sign::any);
    EXPECT_EQ(sign_of_output(of({exp_a, {square, {}, {1}}, {add, {}, {3, 4}}})), Sign::positive);
    EXPECT_EQ(sign_of_output(of({exp_a, {add, {}, {3, 1}}})), Sign::any);
    EXPECT_EQ(sign_of_output(of({{mul, {}, {0, 0}}})), Sign::nonnegative);
    EXPECT_EQ(sign_of_output(of({{mul, {}, {0, 1}}})), Sign::any);
    EXPECT_EQ(sign_of_output(of({exp_a, {square, {}, {1}}, {div, {}, {3, 4}}})), Sign::positive);
    EXPECT_EQ(sign_of_output(of({exp_a, {div, {}, {3, 1}}})), Sign::any);
    EXPECT_EQ(sign_of_output(of({exp_a, {rms_norm, {}, {3}}})), Sign::positive);
    EXPECT_EQ(sign_of_output(of({exp_a, {layer_norm, {}, {3}}})), Sign::any);
    EXPECT_EQ(sign_of_output(of({exp_a, {sum, {}, {3}}})), Sign::positive);
    EXPECT_EQ(sign_of_output(of({{rms, {}, {0}}})), Sign::nonnegative);
    EXPECT_EQ(sign_of_output(of({exp_a, exp_b, {matmul, {}, {3, 4}}}, {4, 4})), Sign::positive);
    EXPECT_EQ(sign_of_output(of({exp_a, {matmul, {}, {3, 1}}}, {4, 4})), Sign::any);
}

bool is_total(Graph const& graph) { return proof::is_total(proof::TypedGraph(graph)); }

TEST(ProofSign, total_is_what_no_input_can_break) {
    Op const exp_a{exp, {}, {0}}, square_a{square, {}, {0}}; // 3
    EXPECT_TRUE(is_total(of({exp_a, {div, {}, {1, 3}}})));
    EXPECT_FALSE(is_total(of({square_a, {div, {}, {1, 3}}}))); // 0 / 0
    EXPECT_FALSE(is_total(of({{div, {}, {1, 0}}})));
    EXPECT_TRUE(is_total(of({square_a, {sqrt, {}, {3}}})));
    EXPECT_FALSE(is_total(of({{sqrt, {}, {0}}})));
    EXPECT_TRUE(is_total(of({exp_a, {rms_norm, {}, {3}}})));
    EXPECT_FALSE(is_total(of({square_a, {rms_norm, {}, {3}}})));
    EXPECT_FALSE(is_total(of({exp_a, {layer_norm, {}, {3}}}))); // equal values have no deviation
    EXPECT_TRUE(is_total(of({exp_a, {pow, {}, {3, 1}}})));
    EXPECT_FALSE(is_total(of({square_a, {pow, {}, {3, 1}}})));
}

// --- where a candidate is defined ---

struct Narrower {
    char const* why;
    Graph reference, candidate; ///< which is not defined everywhere where the reference is
};
std::vector<Narrower> narrower() {
    Op const by_a{div, {}, {2, 0}};
    Op const exp_a{exp, {}, {0}}, exp_b{exp, {}, {1}};
    return {
        {"a sum that is not 0 has terms that may be", of({{sum, {}, {0}}, {div, {}, {2, 3}}}), of({by_a})},
        {"all of them", of({{sum, {}, {0}}, {sum, {}, {2}}, {div, {}, {4, 3}}}), of({by_a, {sum, {}, {3}}})},
        {"so has a sum of two", of({{add, {}, {0, 1}}, {div, {}, {2, 3}}}), of({by_a})},
        {"one factor of two is known", of({by_a}, {4, 1}),
         of({{mul, {}, {0, 1}}, {sum, {}, {3}}, {div, {}, {2, 4}}}, {4, 1})},
        {"terms that are not 0 may have a sum that is", of({by_a, {div, {}, {3, 1}}}),
         of({{add, {}, {0, 1}}, {div, {}, {2, 3}}})},
        {"a difference of exponentials has a root", of({exp_a, exp_b, {sub, {}, {4, 3}}}),
         of({exp_a, exp_b, {sub, {}, {4, 3}}, {sqrt, {}, {5}}})},
        {"a square divided by anything has a root", of({{div, {}, {0, 1}}}),
         of({{square, {}, {0}}, {div, {}, {3, 1}}, {sqrt, {}, {4}}})},
    };
}

TEST(ProofSign, a_candidate_that_needs_more_than_its_reference_is_not_defined) {
    for (auto const& [why, reference, candidate] : narrower()) {
        SCOPED_TRACE(why);
        auto const proof = Prover(reference).prove(candidate);

        EXPECT_FALSE(proof.is_defined || proof.is_proved);
        EXPECT_TRUE(Prover(candidate).prove(candidate).is_proved);
    }
}

TEST(ProofSign, the_root_of_nothing_is_nothing) {
    auto const with = of({{sub, {}, {0, 0}}, {sqrt, {}, {3}}, {add, {}, {1, 4}}});
    auto const without = of({{sub, {}, {0, 0}}, {add, {}, {1, 3}}});

    EXPECT_TRUE(Prover(without).prove(with).is_proved);
    EXPECT_TRUE(Prover(with).prove(without).is_proved);
}

} // namespace
} // namespace espalier::verify
