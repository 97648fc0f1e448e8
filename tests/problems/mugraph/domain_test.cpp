#include "programs.hpp"

#include "support/doubles.hpp"

#include "espalier/base/rng.hpp"
#include "espalier/problems/mugraph/report.hpp"

#include <gtest/gtest.h>

/// Searches whose laws have signs and zeros in them: whatever is reported is right wherever the input is defined, by an
/// interpreter that shares nothing with the verifier.
namespace espalier::problems::mugraph {
namespace {

using base::Rng;
using program::Graph;
using program::OpCode;
using program::SourceOp;

/// Dimensions B, K and N, small enough for every element to be looked at.
program::Source source(std::vector<program::SourceInput> inputs, std::vector<SourceOp> ops) {
    program::Source out;
    out.dims = {{"B", 2}, {"K", 4}, {"N", 6}};
    out.inputs = std::move(inputs);
    out.ops = std::move(ops);
    out.outputs = {out.ops.back().out[0]};
    return out;
}
MugraphConfig small_search(program::Source program) {
    MugraphConfig out;
    out.program = std::move(program);
    out.space.from = SpaceConfig::Preset::full;
    out.space.max_kernel_ops = 3;
    out.space.max_block_ops = 4;
    out.space.min_blocks = 1;
    out.space.max_loop = 2;
    out.space.schedules = SpaceConfig::Schedules::best;
    return out;
}

/// How many of the results are right, and which is not.
std::size_t count_right(MugraphConfig const& config, toys::Walk const& walk) {
    auto const reference = program::build(config.program);
    Rng rng(base::Seed{5});
    auto const inputs = doubles::telling_inputs(reference, rng);
    std::size_t right = 0;
    for (auto const& graph : programs_of(walk)) {
        auto const is_right = std::ranges::all_of(
            inputs, [&](auto const& values) { return doubles::is_replaced_by(reference, graph, values); });
        EXPECT_TRUE(is_right) << program::to_text(graph);
        right += is_right ? 1 : 0;
    }
    return right;
}
void expect_right_programs(MugraphConfig const& config) {
    auto const walk = search(config);

    EXPECT_GT(count_right(config, walk), 0u);
    for (auto const& result : walk.results) EXPECT_EQ(result.verification, search::Verification::proved);
}

std::vector<program::SourceInput> const x_and_w{{"X", {"B", "K"}}, {"W", {"K", "N"}}};

TEST(DomainSearch, the_root_of_a_square_is_not_the_square_of_a_root) {
    expect_right_programs(small_search(source(
        x_and_w, {{{"s"}, "square", {"X"}, {}}, {{"r"}, "sqrt", {"s"}, {}}, {{"O"}, "matmul", {"r", "W"}, {}}})));
}

TEST(DomainSearch, the_root_of_a_product_is_not_a_product_of_roots) {
    expect_right_programs(small_search(
        source({{"X", {"B", "K"}}, {"Z", {"B", "K"}}}, {{{"p"}, "mul", {"X", "Z"}, {}}, {{"O"}, "sqrt", {"p"}, {}}})));
}

TEST(DomainSearch, a_product_of_roots_may_become_the_root_of_a_product) {
    auto const config =
        small_search(source({{"X", {"B", "K"}}, {"Z", {"B", "K"}}},
                            {{{"x"}, "sqrt", {"X"}, {}}, {{"z"}, "sqrt", {"Z"}, {}}, {{"O"}, "mul", {"x", "z"}, {}}}));

    auto const walk = search(config);

    EXPECT_EQ(count_right(config, walk), walk.results.size());
    EXPECT_TRUE(std::ranges::any_of(walk.results, [](auto const& result) {
        return result.text.find("sqrt") == result.text.rfind("sqrt"); // one root only
    }));
}

TEST(DomainSearch, a_norm_of_one_value_is_not_a_product_of_roots) {
    auto config =
        small_search(source({{"Y", {"B", "1"}}, {"W", {"B", "1"}}},
                            {{{"n"}, "rms", {"Y"}, program::Attributes::axis(-1)}, {{"O"}, "mul", {"n", "W"}, {}}}));
    config.prune = Prune::none;
    config.space.kernel_ops = config.space.block_ops = {OpCode::mul, OpCode::sqrt, OpCode::rms};
    config.space.max_block_ops = 2;

    expect_right_programs(config);
}

TEST(DomainSearch, a_quotient_is_not_turned_over_where_its_divisor_may_be_zero) {
    auto config = small_search(source({{"X", {"B", "K"}}, {"Y", {"B", "K"}}, {"Z", {"B", "K"}}},
                                      {{{"p"}, "mul", {"X", "Y"}, {}}, {{"O"}, "div", {"p", "Z"}, {}}}));
    config.prune = Prune::none;
    config.space.kernel_ops = config.space.block_ops = {OpCode::mul, OpCode::div};
    config.space.max_kernel_ops = 2;
    config.space.max_block_ops = 2;

    expect_right_programs(config);
}

/// What `espalier verify` says about a stored program.
Checked recheck(program::Source const& input, program::Source const& result) {
    MugraphConfig config;
    config.program = input;
    auto const graph = program::build(result);
    search::ResultRecord record;
    record.key = program::canonical_key(graph);
    record.text = program::to_text(graph);
    record.verification = search::Verification::proved;
    return verify_again(config, {}, record, 3, Scope::every_element);
}

TEST(DomainSearch, a_stored_program_that_was_called_proved_is_checked_for_its_domain_again) {
    auto const root_of_square =
        source(x_and_w, {{{"s"}, "square", {"X"}, {}}, {{"r"}, "sqrt", {"s"}, {}}, {{"O"}, "matmul", {"r", "W"}, {}}});
    auto const square_of_root =
        source(x_and_w, {{{"r"}, "sqrt", {"X"}, {}}, {{"s"}, "square", {"r"}, {}}, {{"O"}, "matmul", {"s", "W"}, {}}});

    auto const wrong = recheck(root_of_square, square_of_root), right = recheck(square_of_root, root_of_square);

    EXPECT_FALSE(wrong.is_equal || wrong.is_proved);
    EXPECT_FALSE(wrong.reason.empty());
    EXPECT_TRUE(right.is_equal && right.is_proved) << right.reason;
}

/// A random chain of ops that have signs and zeros in their laws; the last op reads the one before.
program::Source random_source(Rng& rng) {
    auto const pick = [&](std::vector<std::string> const& from) { return from[rng.below(from.size())]; };
    std::vector<std::string> tensors{"X", "Y"};
    std::vector<SourceOp> ops;
    auto const count = 2 + rng.below(2);
    while (ops.size() < count) {
        SourceOp op{{"t" + std::to_string(ops.size())}, {}, {}, {}};
        if (rng.uniform() < 0.6) {
            op.op = pick({"sqrt", "square", "sqrt", ops.empty() ? "exp" : "square", "rms"}); // no exp of an exp
            op.in = {tensors.back()};
            if (op.op == "rms") op.attributes = program::Attributes::axis(-1);
        } else {
            op.op = pick({"mul", "div", "add"});
            op.in = {pick(tensors), tensors.back()};
            if (rng.uniform() < 0.5) std::swap(op.in[0], op.in[1]);
        }
        tensors.push_back(op.out[0]);
        ops.push_back(op);
    }
    return source({{"X", {"B", "K"}}, {"Y", {"B", "K"}}}, ops);
}

TEST(DomainSearch, what_random_searches_report_is_right_wherever_the_input_is_defined) {
    Rng rng(base::Seed{10});
    std::size_t found = 0;
    for (int round = 0; round < 30; ++round) {
        auto config = small_search(random_source(rng));
        config.space.max_kernel_ops = 3;
        config.space.max_block_ops = 3;
        if (!program::check(config.program).empty()) continue;
        SCOPED_TRACE(program::to_text(program::build(config.program)));

        found += count_right(config, search(config));
    }
    EXPECT_GT(found, 50u);
}

} // namespace
} // namespace espalier::problems::mugraph
