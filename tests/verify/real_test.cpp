#include "espalier/verify/real.hpp"

#include "real_evaluate.hpp"

#include "espalier/verify/sampling.hpp"
#include "support/doubles.hpp"
#include "support/random_programs.hpp"

#include <gmock/gmock.h>

namespace espalier::verify {
namespace {

using program::Attributes;
using program::Graph;
using program::OpCode;
using program::Shape;
using programs::GraphBuilder;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Ops = std::vector<program::Op>;
using enum OpCode;

/// Ops on a, b, c (tensors 0, 1, 2; ops follow from 3); the last one is the output.
Graph of(Ops ops) {
    Graph out{.inputs = {{"a", {4, 6}}, {"b", {4, 6}}, {"c", {4, 6}}}, .ops = std::move(ops)};
    out.outputs = {2 + static_cast<int>(out.ops.size())};
    return out;
}
std::string refute(Graph const& reference, Graph const& candidate, std::int64_t max_elements = 0) {
    return RealReference(reference, {.max_elements = max_elements}).refute(candidate);
}

doubles::Tensors tensors_of(Graph const& program, real::Inputs const& inputs) {
    doubles::Tensors out;
    for (auto const& input : program.inputs) {
        real::RandomInput const random(inputs, static_cast<int>(out.size()));
        auto& values = out.emplace_back(input.shape).values;
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = random(i);
    }
    return out;
}
std::vector<real::Box> everything(Graph const& program) {
    auto const infos = infer(program);
    std::vector<real::Box> out;
    for (auto const id : program.outputs) out.push_back(real::whole(infos[id].shape));
    return out;
}

TEST(Real, random_programs_have_the_values_of_a_plain_interpreter) {
    programs::RandomPrograms random(base::Seed{6});
    std::size_t compared = 0;
    for (std::uint64_t seed = 1; seed <= 500; ++seed) {
        auto const program = random.next();
        real::Inputs const inputs{
            .seed = seed, .signs = seed % 2 ? real::Inputs::Signs::both : real::Inputs::Signs::positive, .spread = 2};

        auto const found = real::evaluate(program, inputs, everything(program));
        auto const wanted = doubles::Interpreter(program).run(tensors_of(program, inputs));

        for (std::size_t i = 0; i < wanted.size(); ++i)
            for (std::size_t n = 0; n < found[i].size(); ++n) {
                if (is_unknown(found[i][n]) || !std::isfinite(wanted[i].values[n])) continue;
                ASSERT_TRUE(doubles::is_replaced_by(wanted[i].values[n], found[i][n].value))
                    << "program " << seed << ": " << wanted[i].values[n] << ", " << found[i][n].value;
                ++compared;
            }
    }
    EXPECT_GT(compared, 5000u);
}

TEST(Real, demanded_elements_are_those_of_the_whole) {
    auto const program = programs::fused_rms_linear({2, 12, 10}, {5, 3});
    auto const all = real::evaluate(program, {}, everything(program))[0];

    auto const some = real::evaluate(program, {}, {{{1, 0}, {9, 2, 4}}})[0];

    for (std::size_t i = 0; i < 6; ++i) {
        auto const row = i < 3 ? 1u : 0u, column = std::array{9u, 2u, 4u}[i % 3];
        EXPECT_EQ(some[i].value, all[row * 10 + column].value);
    }
}

TEST(Real, inputs_have_the_signs_magnitudes_and_zeros_that_are_asked_for) {
    using enum real::Inputs::Signs;
    real::RandomInput const mixed({.signs = both, .exponent = 3, .spread = 5, .zeros = 16}, 0);
    int below = 0, zeros = 0;
    for (std::uint64_t i = 0; i < 1000; ++i) {
        auto const value = mixed(i);
        EXPECT_TRUE(value == 0 || (std::abs(value) >= 0.25 && std::abs(value) < 16)) << value;
        below += value < 0 ? 1 : 0;
        zeros += value == 0 ? 1 : 0;
    }
    EXPECT_NEAR(zeros, 250, 60);
    EXPECT_NEAR(below, 375, 60);
    EXPECT_LT(real::RandomInput({.signs = even_negative}, 0)(1), 0);
    EXPECT_GT(real::RandomInput({.signs = even_negative}, 1)(1), 0);
    EXPECT_LT(real::RandomInput({.signs = odd_negative}, 1)(1), 0);
}

TEST(Real, what_is_not_a_number_where_the_program_is_finite_is_refuted) {
    auto const root_of_square = of({{square, {}, {0}}, {sqrt, {}, {3}}});
    auto const square_of_root = of({{sqrt, {}, {0}}, {square, {}, {3}}});
    auto const root_of_product = of({{mul, {}, {0, 1}}, {sqrt, {}, {3}}, {sum, {}, {4}}});
    auto const product_of_roots = of({{sqrt, {}, {0}}, {sqrt, {}, {1}}, {mul, {}, {3, 4}}, {sum, {}, {5}}});
    auto const cancelled = of({{mul, {}, {0, 1}}, {div, {}, {3, 1}}, {add, {}, {4, 2}}});

    EXPECT_THAT(refute(root_of_square, square_of_root), HasSubstr("nan"));
    EXPECT_THAT(refute(root_of_square, square_of_root, 4), HasSubstr("nan"));
    EXPECT_THAT(refute(root_of_product, product_of_roots), HasSubstr("nan"));
    EXPECT_THAT(refute(of({{add, {}, {0, 2}}}), cancelled), HasSubstr("nan"));
    EXPECT_THAT(refute(square_of_root, root_of_square), IsEmpty());
    EXPECT_THAT(refute(product_of_roots, root_of_product), IsEmpty());
    EXPECT_THAT(refute(cancelled, of({{add, {}, {0, 2}}})), IsEmpty());
}

TEST(Real, a_clear_difference_is_refuted_and_rounding_is_not) {
    programs::LinearSizes const sizes{2, 12, 10};
    auto const reference = programs::rms_linear(sizes);

    for (std::int64_t const elements : {0, 4}) {
        EXPECT_THAT(refute(reference, programs::fused_rms_linear(sizes, {5, 3}), elements), IsEmpty());
        EXPECT_THAT(refute(reference, programs::fused_rms_linear(sizes, {5, 3}, {.divides_norm = true}), elements),
                    HasSubstr("where the program is"));
        EXPECT_THAT(refute(reference, programs::fused_rms_linear(sizes, {5, 3}, {.norm_accumulator = accumulate_sum}),
                           elements),
                    HasSubstr("where the program is"));
    }
    // (a + b) - b, in which much is lost; and its quotient by what is only rounding
    auto const lossy = of({{add, {}, {0, 1}}, {sub, {}, {3, 1}}, {add, {}, {4, 2}}});
    auto const exact = of({{add, {}, {0, 2}}});
    EXPECT_THAT(refute(lossy, exact), IsEmpty());
    EXPECT_THAT(refute(exact, lossy), IsEmpty());
    auto const noise = of({{add, {}, {0, 1}}, {sub, {}, {3, 1}}, {sub, {}, {4, 0}}, {div, {}, {2, 5}}});
    EXPECT_THAT(refute(of({{add, {}, {0, 2}}}), noise), testing::AnyOf(IsEmpty(), HasSubstr("inf"), HasSubstr("nan")));
}

TEST(Real, what_the_run_has_no_time_for_is_given_up_and_made_later) {
    std::atomic<bool> const has_stopped{true};
    auto const sum = of({{add, {}, {0, 1}}}), other = of({{add, {}, {0, 2}}});
    RealReference const reference(sum, {});

    EXPECT_THROW((void)reference.refute(other, base::StopToken(has_stopped)), base::Stopped);

    EXPECT_THAT(reference.refute(sum), IsEmpty());
    EXPECT_THROW((void)reference.refute(other, base::StopToken(has_stopped)), base::Stopped);
    EXPECT_THAT(reference.refute(other), Not(IsEmpty()));
}

TEST(Real, no_random_program_is_refuted_by_itself_with_other_threads) {
    programs::RandomPrograms random(base::Seed{8});
    for (int i = 0; i < 300; ++i) {
        auto const program = random.next();
        auto inlined = program;
        for (auto& body : inlined.bodies) body = program::with_thread_graphs(program::inline_thread_graphs(body));

        EXPECT_THAT(refute(program, inlined), IsEmpty()) << "program " << i;
    }
}

TEST(RealReference, looks_at_every_output) {
    auto reference = of({{relu, {}, {0}}, {silu, {}, {1}}});
    reference.outputs = {3, 4};
    auto candidate = reference;
    candidate.ops[program::OpId{1}].code = gelu;

    EXPECT_THAT(refute(reference, reference), IsEmpty());
    EXPECT_THAT(refute(reference, candidate), HasSubstr("output 1"));
}

} // namespace
} // namespace espalier::verify
