#include "espalier/verify/compare.hpp"
#include "espalier/verify/reference.hpp"

#include "support/random_programs.hpp"

#include <gmock/gmock.h>

namespace espalier::verify {
namespace {

using program::Graph;
using program::OpCode;
using program::Schedule;
using programs::GraphBuilder;
using programs::LinearSizes;
using testing::HasSubstr;

constexpr LinearSizes small{2, 12, 10};

Verdict verdict(Graph const& reference, Graph const& candidate, CompareOptions const& options = {}) {
    return compare(reference, candidate, options).verdict;
}

TEST(Compare, rms_norm_may_divide_after_the_product) {
    struct Case {
        LinearSizes sizes;
        programs::SplitSizes split;
    };
    for (auto const& [sizes, split] : std::vector<Case>{{{2, 12, 10}, {5, 3}},
                                                        {{2, 8, 8}, {2, 2}},
                                                        {{3, 15, 21}, {7, 5}},
                                                        {{1, 9, 1}, {1, 9}},
                                                        {{5, 7, 11}, {11, 1}},
                                                        {{4, 64, 96}, {32, 16}}}) {
        auto const reference = programs::rms_linear(sizes);
        auto const candidate = programs::fused_rms_linear(sizes, split);

        EXPECT_EQ(verdict(reference, candidate), Verdict::equal) << sizes.inner;
        EXPECT_EQ(verdict(reference, candidate, {.max_elements = 4}), Verdict::equal) << sizes.inner;
    }
}

TEST(Compare, one_that_the_run_has_no_time_for_is_given_up_and_made_later) {
    std::atomic<bool> const has_stopped{true};
    auto const candidate = programs::fused_rms_linear(small, {5, 3});
    Reference const reference(programs::rms_linear(small), {});

    EXPECT_THROW((void)reference.compare(candidate, base::StopToken(has_stopped)), base::Stopped);

    EXPECT_EQ(reference.compare(candidate).verdict, Verdict::equal);
    EXPECT_THROW((void)reference.compare(candidate, base::StopToken(has_stopped)), base::Stopped)
        << "when its own values are there";
}

TEST(Compare, a_device_says_the_same) {
    std::vector<std::unique_ptr<DeviceRunner>> runners;
    runners.push_back(make_host_runner());
    DeviceService service(std::move(runners), {});
    auto const reference = programs::rms_linear(small);

    EXPECT_EQ(verdict(reference, programs::fused_rms_linear(small, {5, 3}), {.device = &service}), Verdict::equal);
    EXPECT_EQ(
        verdict(reference, programs::fused_rms_linear(small, {5, 3}, {.divides_norm = true}), {.device = &service}),
        Verdict::different);
}

TEST(Compare, wrong_variants_of_a_fused_kernel_are_different) {
    auto const reference = programs::rms_linear(small);
    auto const variant = [](programs::FusedOptions const& options) {
        return programs::fused_rms_linear(small, {5, 3}, options);
    };

    auto const other_accumulator = variant({.norm_accumulator = OpCode::accumulate_sum});
    auto const swapped = variant({.divides_norm = true});

    for (auto const max_elements : {0, 4}) {
        EXPECT_EQ(verdict(reference, other_accumulator, {.max_elements = max_elements}), Verdict::different);
        EXPECT_EQ(verdict(reference, swapped, {.max_elements = max_elements}), Verdict::different);
    }
}

/// Sums X, which the loop does not split, over `steps` steps.
Graph times_steps(std::int64_t steps) {
    Schedule schedule{.loop = steps, .inputs = {{}}};
    GraphBuilder block(schedule), kernel;
    auto const tile = block.input({2, 4});
    auto const body = block.build({block.op(OpCode::accumulate, {tile})});
    auto const x = kernel.input({2, 4});
    return kernel.build({kernel.graph(body, {x})});
}

TEST(Compare, the_range_of_a_loop_is_a_value) {
    GraphBuilder kernel;
    auto const x = kernel.input({2, 4});
    auto const doubled = kernel.build({kernel.op(OpCode::add, {x, x})});

    EXPECT_EQ(verdict(doubled, times_steps(2)), Verdict::equal);
    EXPECT_EQ(verdict(doubled, times_steps(3)), Verdict::different);
}

/// softmax(X) V, the denominator applied before the product.
Graph softmax_product(std::int64_t rows, std::int64_t keys, std::int64_t columns) {
    GraphBuilder kernel;
    auto const x = kernel.input({rows, keys}), v = kernel.input({keys, columns});
    auto const e = kernel.op(OpCode::exp, {x});
    auto const weights = kernel.op(OpCode::div, {e, kernel.op(OpCode::sum, {e})});
    return kernel.build({kernel.op(OpCode::matmul, {weights, v})});
}
/// The same with keys in a loop and both sums divided at the end.
Graph split_softmax_product(std::int64_t rows, std::int64_t keys, std::int64_t columns, OpCode denominator) {
    Schedule schedule{.loop = 2, .inputs = {{{-1, -1, -1}, 1}, {{-1, -1, -1}, 0}}};
    GraphBuilder block(schedule), kernel;
    auto const xb = block.input({rows, keys / 2}), vb = block.input({keys / 2, columns});
    auto const e = block.op(OpCode::exp, {xb});
    auto const above = block.op(OpCode::accumulate, {block.op(OpCode::matmul, {e, vb})});
    auto const body = block.build({block.op(OpCode::div, {above, block.op(denominator, {e})})});
    auto const x = kernel.input({rows, keys}), v = kernel.input({keys, columns});
    return kernel.build({kernel.graph(body, {x, v})});
}

TEST(Compare, a_softmax_may_be_divided_at_the_end) {
    auto const reference = softmax_product(3, 8, 5);

    auto const right = compare(reference, split_softmax_product(3, 8, 5, OpCode::accumulate_sum), {});
    auto const wrong = compare(reference, split_softmax_product(3, 8, 5, OpCode::accumulate_rms), {});

    EXPECT_EQ(right.verdict, Verdict::equal);
    EXPECT_EQ(right.error_bound, 1); // there is none with an exp
    EXPECT_EQ(wrong.verdict, Verdict::different);
}

TEST(Compare, programs_of_which_one_has_an_exponential_can_be_compared) {
    GraphBuilder with, without;
    auto const x = with.input({2, 2});
    auto const e = with.op(OpCode::exp, {x});
    auto const cancelled = with.build({with.op(OpCode::div, {with.op(OpCode::mul, {x, e}), e})});
    auto const y = without.input({2, 2});
    auto const plain = without.build({y});

    EXPECT_EQ(verdict(plain, cancelled), Verdict::equal);
    EXPECT_EQ(verdict(cancelled, plain), Verdict::equal);
}

/// Block g divides all rows by the norm of row g: right for half of the elements.
Graph norm_of_one_row(LinearSizes const& n) {
    Schedule schedule{.grid = {n.rows, 1, 1}, .output = {1, -1, -1}};
    schedule.inputs = {{{-1, -1, -1}}, {{0, -1, -1}}, {{1, -1, -1}}};
    GraphBuilder block(schedule), kernel;
    auto const all_rows = block.input({n.rows, n.inner}), row = block.input({1, n.inner});
    auto const columns = block.input({n.inner, n.columns / n.rows});
    auto const product = block.op(OpCode::matmul, {all_rows, columns});
    auto const body = block.build({block.op(OpCode::div, {product, block.op(OpCode::rms, {row})})});
    auto const x = kernel.input({n.rows, n.inner}), w = kernel.input({n.inner, n.columns});
    return kernel.build({kernel.graph(body, {x, x, w})});
}

TEST(Compare, a_program_that_is_right_in_half_of_the_elements_is_caught_by_the_smallest_sample) {
    auto const reference = programs::rms_linear(small);

    for (std::uint64_t seed = 1; seed <= 20; ++seed)
        EXPECT_EQ(verdict(reference, norm_of_one_row(small), {.tests = 1, .seed = seed, .max_elements = 1}),
                  Verdict::different);
}

TEST(Compare, other_shapes_are_different_before_any_test) {
    auto const result = compare(programs::rms_linear({2, 4, 6}), programs::rms_linear({2, 4, 8}), {});

    EXPECT_EQ(result.verdict, Verdict::different);
    EXPECT_EQ(result.tests, 0);
    EXPECT_THAT(result.reason, HasSubstr("other shapes"));
}

TEST(Compare, a_division_by_zero_leaves_it_undecided) {
    GraphBuilder kernel;
    auto const x = kernel.input({2, 2});
    auto const program = kernel.build({kernel.op(OpCode::div, {x, kernel.op(OpCode::sub, {x, x})})});

    auto const result = compare(program, program, {});

    EXPECT_EQ(result.verdict, Verdict::undecided);
    EXPECT_THAT(result.reason, HasSubstr("divide by zero"));
}

TEST(Compare, a_result_says_how_much_was_compared) {
    auto const reference = programs::gated_mlp({8, 16, 32});
    auto const candidate = programs::fused_gated_mlp({8, 16, 32}, {4, 2});

    auto const all = compare(reference, candidate, {.tests = 3});
    auto const some = compare(reference, candidate, {.tests = 1, .max_elements = 16});

    EXPECT_EQ(all.verdict, Verdict::equal);
    EXPECT_EQ(all.tests, 3);
    EXPECT_EQ(all.elements, 8 * 32);
    EXPECT_EQ(some.elements, 16);
}

TEST(Compare, every_random_program_equals_itself) {
    programs::RandomPrograms random(base::Seed{3});
    int equal = 0;
    for (int i = 0; i < 200; ++i) {
        auto const program = random.next();

        auto const result = compare(program, program, {.tests = 1, .max_elements = 20});

        auto const has_values = evaluate_reference(program, {.seed = 7}).status == OpStatus::done;
        EXPECT_NE(result.verdict, Verdict::different) << "program " << i << ": " << result.reason;
        EXPECT_TRUE(!has_values || result.verdict == Verdict::equal) << "program " << i << ": " << result.reason;
        equal += result.verdict == Verdict::equal ? 1 : 0;
    }
    EXPECT_GT(equal, 100);
}

TEST(Compare, a_kept_reference_gives_the_same_answers) {
    auto const reference = programs::rms_linear(small);
    CompareOptions const options{.max_elements = 8};
    Reference const kept(reference, options);

    for (auto const& candidate : {programs::fused_rms_linear(small, {5, 3}), programs::fused_rms_linear(small, {2, 4}),
                                  norm_of_one_row(small)}) {
        EXPECT_EQ(kept.compare(candidate), compare(reference, candidate, options));
        EXPECT_EQ(kept.compare(candidate), compare(reference, candidate, options));
    }
}

/// relu(a) and a second output that is given.
program::Graph with_second_output(program::OpCode code) {
    program::Graph out{.inputs = {{"a", {4, 6}}}};
    out.ops = {{program::OpCode::relu, {}, {0}}, {code, {}, {0}}};
    out.outputs = {1, 2};
    return out;
}

TEST(Compare, every_output_is_compared_and_counted) {
    auto const reference = with_second_output(program::OpCode::silu);

    auto const same = compare(reference, reference, {});
    auto const other = compare(reference, with_second_output(program::OpCode::gelu), {});

    EXPECT_EQ(same.verdict, Verdict::equal);
    EXPECT_EQ(same.elements, 2 * 4 * 6);
    EXPECT_EQ(other.verdict, Verdict::different);
    EXPECT_NE(other.reason.find("output 1"), std::string::npos) << other.reason;
}

TEST(Compare, outputs_of_other_shapes_are_different_whatever_they_hold) {
    program::Graph const rows{.inputs = {{"a", {4, 6}}}, .ops = {{program::OpCode::sum, {}, {0}}}, .outputs = {1}};
    program::Graph whole = rows;
    whole.ops[program::OpId{0}].code = program::OpCode::relu;

    auto const found = compare(rows, whole, {});

    EXPECT_EQ(found.verdict, Verdict::different);
    EXPECT_EQ(found.tests, 0);
    EXPECT_EQ(found.reason, "the outputs have other shapes");
}

} // namespace
} // namespace espalier::verify
