#include "espalier/program/text.hpp"
#include "espalier/verify/evaluate.hpp"
#include "espalier/verify/reference.hpp"

#include "support/random_programs.hpp"

#include <gmock/gmock.h>

namespace espalier::verify {
namespace {

using programs::RandomPrograms;

/// The demanded elements of a whole tensor.
Tiles picked(Tiles const& whole, Demand const& demand) {
    Tiles out{{}, 1, whole.has_q, {}, {}};
    std::int64_t count = 1;
    for (auto const& indices : demand.of_dim) {
        out.shape.push(static_cast<std::int64_t>(indices.size()));
        count *= out.shape.back();
    }
    for (std::int64_t n = 0; n < count; ++n) {
        std::int64_t at = 0, rest = n, stride = 1;
        for (int dim = whole.shape.rank() - 1; dim >= 0; --dim) {
            at +=
                stride * demand.of_dim[static_cast<std::size_t>(dim)][static_cast<std::size_t>(rest % out.shape[dim])];
            rest /= out.shape[dim];
            stride *= whole.shape[dim];
        }
        out.p.push_back(whole.p[static_cast<std::size_t>(at)]);
        if (whole.has_q) out.q.push_back(whole.q[static_cast<std::size_t>(at)]);
    }
    return out;
}

std::vector<Demand> random_demands(std::vector<Tiles> const& outputs, RandomPrograms& random) {
    std::vector<Demand> demands;
    for (auto const& output : outputs) {
        Demand demand;
        for (auto const size : output.shape) {
            std::vector<std::int64_t> indices;
            for (auto n = 1 + random.below(3); n > 0; --n) indices.push_back(random.below(size));
            demand.of_dim.push_back(indices);
        }
        demands.push_back(random.below(5) == 0 ? Demand{} : demand);
    }
    return demands;
}

/// Whether one of the ops stands anywhere in a program, by its text.
bool mentions(program::Graph const& program, std::vector<std::string> const& ops) {
    auto const text = program::to_text(program);
    return std::ranges::any_of(ops, [&](auto const& op) { return text.find(" = " + op + " ") != std::string::npos; });
}

std::vector<std::string> const exponentials{"exp", "exp_sub", "accumulate_rescaled", "accumulate_rescaled_sum"};

// Both evaluators below ask these two: were they wrong, the evaluators would agree in what is wrong.
TEST(Evaluate, exponentials_and_roots_are_seen_at_every_level) {
    RandomPrograms random(base::Seed{4});
    int in_bodies_only = 0;
    for (int i = 0; i < 1000; ++i) {
        auto const program = random.next();
        auto const has_exp = mentions(program, exponentials);
        auto const has_sqrt = mentions(program, {"sqrt", "rms", "rms_norm", "layer_norm", "accumulate_rms"});

        ASSERT_EQ(has_exponential(program), has_exp) << program::to_text(program);
        ASSERT_EQ(has_root(program), has_sqrt) << program::to_text(program);
        auto kernels = program;
        kernels.bodies.clear();
        kernels.ops.erase_if([](auto const& op) { return op.code == program::OpCode::graph; });
        in_bodies_only += (has_exp && !has_exponential(kernels)) || (has_sqrt && !has_root(kernels)) ? 1 : 0;
    }
    EXPECT_GT(in_bodies_only, 50);
}

/// An op after the loop that reads what the loop does not split.
bool has_epilogue(program::Graph const& block) {
    using program::LoopSide;
    auto const tensors = infer(block);
    return block.schedule.loop > 1 && std::ranges::any_of(block.ops, [&](auto const& op) {
               auto const has = [&](LoopSide side) {
                   return std::ranges::any_of(op.inputs, [&](auto id) { return tensors[id].side == side; });
               };
               return has(LoopSide::invariant) && has(LoopSide::after_loop);
           });
}
bool stores_what_it_reads(program::Graph const& graph) {
    return std::ranges::any_of(graph.ops, [&](auto const& op) {
        return std::ranges::any_of(op.inputs, [&](auto id) { return std::ranges::count(graph.outputs, id) > 0; });
    });
}

TEST(RandomPrograms, have_all_structures) {
    RandomPrograms random(base::Seed{7});
    std::ptrdiff_t epilogues = 0, stored = 0, stored_in_blocks = 0;
    for (int i = 0; i < 1000; ++i) {
        auto const program = random.next();
        epilogues += std::ranges::count_if(program.bodies, has_epilogue);
        stored += stores_what_it_reads(program) ? 1 : 0;
        stored_in_blocks += std::ranges::count_if(program.bodies, stores_what_it_reads);
    }

    EXPECT_GT(epilogues, 50);
    EXPECT_GT(stored, 50);
    EXPECT_GT(stored_in_blocks, 50);
}

TEST(Evaluate, random_programs_have_the_values_of_the_reference) {
    RandomPrograms random(base::Seed{1});
    int done = 0;
    for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
        auto const program = random.next();
        Draw const draw{seed, seed % 2 ? field::Roots::power : field::Roots::random_function,
                        seed % 3 ? Exponents::if_needed : Exponents::always};

        auto const truth = evaluate_reference(program, draw);
        auto const fast = evaluate(program, draw);

        if (truth.status != OpStatus::done) continue; // perhaps in an op that no output needs
        auto const needs_exponents = draw.exponents == Exponents::always || mentions(program, exponentials);
        for (auto const& output : fast.outputs) ASSERT_TRUE(needs_exponents || !output.has_q) << "program " << seed;
        ASSERT_EQ(fast, truth) << "program " << seed;
        ++done;
    }
    EXPECT_GT(done, 1000);
}

TEST(Evaluate, demanded_elements_of_random_programs_are_those_of_the_reference) {
    RandomPrograms random(base::Seed{2});
    for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
        auto const program = random.next();
        auto const truth = evaluate_reference(program, {.seed = seed});
        if (truth.status != OpStatus::done) continue;
        auto const demands = random_demands(truth.outputs, random);

        auto const fast = evaluate(program, {.seed = seed}, demands);

        ASSERT_EQ(fast.status, OpStatus::done) << "program " << seed;
        for (std::size_t i = 0; i < demands.size(); ++i) {
            auto const wanted = demands[i].of_dim.empty() ? truth.outputs[i] : picked(truth.outputs[i], demands[i]);
            ASSERT_EQ(fast.outputs[i], wanted) << "program " << seed << " output " << i;
        }
    }
}

TEST(Evaluate, a_few_columns_need_little) {
    auto const program = programs::fused_rms_linear({2, 64, 60}, {5, 4});
    std::vector<Demand> const two_columns{{{{0, 1}, {3, 40}}}};

    auto const tape = compile(program, two_columns, Exponents::if_needed);

    std::int64_t generated = 0;
    for (auto const& step : tape.steps)
        if (step.kind == TapeStep::Kind::generate) generated += tape.slots[step.out].size();
    EXPECT_EQ(generated, 2 * 64 + 64 * 2 * 2); // X, and columns 3 and 4 (40 mod 12) of two blocks of W
}

TEST(Evaluate, an_exponential_of_an_exponential_has_no_value) {
    programs::GraphBuilder kernel;
    auto const x = kernel.input({2, 2});
    auto const program = kernel.build({kernel.op(program::OpCode::exp, {kernel.op(program::OpCode::exp, {x})})});

    EXPECT_EQ(evaluate(program, {}).status, OpStatus::no_exponent);
    EXPECT_EQ(evaluate_reference(program, {}).status, OpStatus::no_exponent);
}

TEST(Evaluate, a_zero_divisor_is_told) {
    programs::GraphBuilder kernel;
    auto const x = kernel.input({2, 2});
    auto const program = kernel.build({kernel.op(program::OpCode::div, {x, kernel.op(program::OpCode::sub, {x, x})})});

    EXPECT_EQ(evaluate(program, {}).status, OpStatus::zero_divisor);
    EXPECT_EQ(evaluate_reference(program, {}).status, OpStatus::zero_divisor);
}

TEST(Evaluate, an_output_may_be_an_input) {
    programs::GraphBuilder kernel;
    auto const x = kernel.input({2, 3});
    auto const program = kernel.build({x, kernel.op(program::OpCode::square, {x}), x});

    EXPECT_EQ(evaluate(program, {}), evaluate_reference(program, {}));
}

} // namespace
} // namespace espalier::verify
