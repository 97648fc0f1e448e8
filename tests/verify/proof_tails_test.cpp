#include "espalier/verify/proof.hpp"
#include "espalier/verify/real.hpp"

#include "support/programs.hpp"

#include <gtest/gtest.h>

/// Proofs of loops and grids whose last tile is smaller, and attacks on them.
namespace espalier::verify {
namespace {

using program::AttributeName;
using program::Attributes;
using program::Graph;
using program::OpCode;
using program::Partition;
using program::Schedule;
using program::Shape;
using programs::GraphBuilder;

/// Starts a block on tiles of tensors with these shapes.
GraphBuilder block_on(Schedule schedule, std::vector<Shape> const& operands, std::vector<Partition> const& cuts) {
    for (std::size_t i = 0; i < operands.size(); ++i)
        schedule.inputs.push_back(with_tails(cuts[i], operands[i], schedule));
    GraphBuilder block(schedule);
    for (std::size_t i = 0; i < operands.size(); ++i)
        block.input(tile_shape(operands[i], schedule.inputs[i], schedule));
    return block;
}
Graph kernel_of(Graph const& body, std::vector<Shape> const& operands) {
    GraphBuilder kernel;
    std::vector<int> ids;
    for (auto const& shape : operands) ids.push_back(kernel.input(shape));
    return kernel.build({kernel.graph(body, ids)});
}
Attributes along(int axis) { return Attributes::axis(axis); }

constexpr std::int64_t hidden = 4099; // a prime

/// rms_norm(X) W in one kernel: `steps` along the prime, `blocks` along the columns.
struct FusedNorm {
    std::int64_t columns = 64, steps = 65, blocks = 4;
    OpCode norm = OpCode::accumulate_rms, product = OpCode::accumulate;
    /// X, W.
    [[nodiscard]] std::vector<Shape> shapes() const { return {{2, hidden}, {hidden, columns}}; }
    [[nodiscard]] Graph reference() const {
        GraphBuilder kernel;
        auto const x = kernel.input(shapes()[0]), w = kernel.input(shapes()[1]);
        return kernel.build({kernel.op(OpCode::matmul, {kernel.op(OpCode::rms_norm, {x}), w})});
    }
    [[nodiscard]] Graph candidate() const {
        Schedule const schedule{.grid = {blocks, 1, 1}, .loop = steps, .output = {1, -1, -1}};
        auto block = block_on(schedule, shapes(), {{.loop = 1}, {.grid = {1, -1, -1}, .loop = 0}});
        auto const sum = block.op(product, {block.op(OpCode::matmul, {0, 1})});
        auto const body = block.build({block.op(OpCode::div, {sum, block.op(norm, {0})})});
        return kernel_of(body, shapes());
    }
};
bool is_proved(FusedNorm const& of) { return Prover(of.reference()).prove(of.candidate()).is_proved; }

TEST(ProofTails, a_prime_size_has_a_looped_kernel) {
    EXPECT_TRUE(is_proved({}));
    EXPECT_TRUE(is_proved({.steps = 2})) << "2050 and 2049";
    EXPECT_TRUE(is_proved({.steps = 257}));
}

TEST(ProofTails, a_grid_may_be_uneven_too) {
    EXPECT_TRUE(is_proved({.columns = 67, .blocks = 5})) << "14 four times and 11";
    EXPECT_TRUE(is_proved({.columns = 67, .blocks = 2}));
}

TEST(ProofTails, other_accumulators_make_a_different_program) {
    EXPECT_FALSE(is_proved({.product = OpCode::accumulate_max}));
    EXPECT_FALSE(is_proved({.norm = OpCode::accumulate_sum}));
}

/// sqrt(sum of squares / count + eps) with the count written out.
Graph root_of_mean(std::int64_t count) {
    std::vector<Shape> const shapes{{2, hidden}};
    auto block = block_on({.loop = 65}, shapes, {{.loop = 1}});
    auto const squares = block.op(OpCode::accumulate_sum, {block.op(OpCode::square, {0})});
    auto const mean =
        block.op(OpCode::scale, {squares}, Attributes{}.with(AttributeName::over, static_cast<int>(count)));
    return kernel_of(block.build({block.op(OpCode::sqrt, {mean})}), shapes);
}
Graph root_mean_square() {
    GraphBuilder kernel;
    auto const x = kernel.input({2, hidden});
    return kernel.build({kernel.op(OpCode::rms, {x})});
}

TEST(ProofTails, a_count_is_that_of_the_existing_elements) {
    Prover const prover(root_mean_square());

    EXPECT_TRUE(prover.prove(root_of_mean(hidden)).is_proved);
    EXPECT_FALSE(prover.prove(root_of_mean(hidden + 1)).is_proved);
    EXPECT_FALSE(prover.prove(root_of_mean(65 * 64)).is_proved) << "as if the last tile were full";
    EXPECT_FALSE(RealReference(root_mean_square(), {.max_elements = 0}).refute(root_of_mean(65 * 64)).empty());
}

/// The sum over the columns of X.
Graph plain_sum(std::int64_t size) {
    GraphBuilder kernel;
    auto const x = kernel.input({2, size});
    return kernel.build({kernel.op(OpCode::sum, {x})});
}

TEST(ProofTails, a_sum_of_fewer_or_more_elements_is_not_the_sum) {
    std::vector<Shape> const shapes{{2, 9}};
    auto block = block_on({.loop = 2}, shapes, {{.loop = 1}}); // 5 and 4
    auto const good = kernel_of(block.build({block.op(OpCode::accumulate_sum, {0})}), shapes);
    auto short_of_one = good;
    short_of_one.bodies[0].schedule.inputs[0].last[1] = 3;
    auto one_more = good;
    one_more.bodies[0].schedule.inputs[0].last[1] = 5;
    Prover const prover(plain_sum(9));

    EXPECT_TRUE(prover.prove(good).is_proved);
    EXPECT_FALSE(prover.prove(short_of_one).is_proved);
    EXPECT_FALSE(prover.prove(one_more).is_proved) << "a read past the end";
    EXPECT_FALSE(Prover(plain_sum(10)).prove(good).is_proved);
}

enum class Per { element, step };
/// A constant, added up.
Graph constants(Per per) {
    std::vector<Shape> const shapes{{1, 9}, {1, 1}};
    auto block = block_on({.loop = 2}, shapes, {{.loop = 1}, {}});
    auto const row = block.op(OpCode::sub, {0, 0});
    auto const ones = block.op(OpCode::add, {row, 1});
    auto const of_step = block.op(OpCode::add, {block.op(OpCode::sum, {row}), 1});
    auto const summed = per == Per::element ? block.op(OpCode::accumulate_sum, {ones}, along(1))
                                            : block.op(OpCode::accumulate, {of_step});
    return kernel_of(block.build({summed}), shapes);
}
Graph times(int count) {
    GraphBuilder kernel;
    kernel.input({1, 9});
    auto const one = kernel.input({1, 1});
    return kernel.build({kernel.op(OpCode::scale, {one}, Attributes{}.with(AttributeName::by, count))});
}

TEST(ProofTails, a_constant_term_counts_once_per_element_or_step) {
    EXPECT_TRUE(Prover(times(9)).prove(constants(Per::element)).is_proved);
    EXPECT_FALSE(Prover(times(10)).prove(constants(Per::element)).is_proved);
    EXPECT_TRUE(Prover(times(2)).prove(constants(Per::step)).is_proved);
    EXPECT_FALSE(Prover(times(9)).prove(constants(Per::step)).is_proved);
}

TEST(ProofTails, a_square_of_each_step_is_not_the_square_of_all) {
    std::vector<Shape> const shapes{{1, 9}};
    auto steps = block_on({.loop = 2}, shapes, {{.loop = 1}}), all = steps;
    auto const wrong = steps.op(OpCode::accumulate, {steps.op(OpCode::square, {steps.op(OpCode::sum, {0})})});
    auto const right = all.op(OpCode::square, {all.op(OpCode::accumulate_sum, {0})});
    GraphBuilder kernel;
    auto const x = kernel.input({1, 9});
    Prover const prover(kernel.build({kernel.op(OpCode::square, {kernel.op(OpCode::sum, {x})})}));

    EXPECT_TRUE(prover.prove(kernel_of(all.build({right}), shapes)).is_proved);
    EXPECT_FALSE(prover.prove(kernel_of(steps.build({wrong}), shapes)).is_proved);
}

TEST(ProofTails, a_division_in_the_loop_is_asked_for_existing_elements) {
    std::vector<Shape> const shapes{{2, 9}, {2, 9}};
    auto block = block_on({.loop = 2}, shapes, {{.loop = 1}, {.loop = 1}});
    auto const body = block.build({block.op(OpCode::accumulate_sum, {block.op(OpCode::div, {0, 1})})});
    GraphBuilder kernel, other;
    auto const x = kernel.input({2, 9}), y = kernel.input({2, 9});
    auto const reference = kernel.build({kernel.op(OpCode::sum, {kernel.op(OpCode::div, {x, y})})});
    other.input({2, 9}), other.input({2, 9});
    auto const undivided = other.build({other.op(OpCode::sum, {0})});

    EXPECT_TRUE(Prover(reference).prove(kernel_of(body, shapes)).is_proved);
    EXPECT_FALSE(Prover(undivided).prove(kernel_of(body, shapes)).is_defined);
}

/// softmax(Q K^T) V with online softmax over `keys`, of which the last tile is smaller.
Graph attention(std::int64_t keys, std::int64_t steps, OpCode accumulator) {
    std::vector<Shape> const shapes{{4, 8}, {keys, 8}, {keys, 6}};
    auto block = block_on({.loop = steps}, shapes, {{}, {.loop = 0}, {.loop = 0}});
    auto const scores = block.op(OpCode::matmul_nt, {0, 1});
    auto const most = block.op(OpCode::max, {scores});
    auto const weights = block.op(OpCode::exp_sub, {scores, most});
    auto const part = block.op(OpCode::matmul, {weights, 2});
    auto const sum = block.op(OpCode::sum, {weights});
    std::vector<int> operands{part, most};
    operands.resize(static_cast<std::size_t>(info(accumulator).inputs));
    auto const values = block.op(accumulator, operands);
    auto const total = block.op(OpCode::accumulate_rescaled, {sum, most});
    return kernel_of(block.build({block.op(OpCode::div, {values, total})}), shapes);
}
Graph plain_attention(std::int64_t keys) {
    GraphBuilder kernel;
    auto const q = kernel.input({4, 8}), k = kernel.input({keys, 8}), v = kernel.input({keys, 6});
    auto const scores = kernel.op(OpCode::matmul_nt, {q, k});
    auto const weights = kernel.op(OpCode::exp_sub, {scores, kernel.op(OpCode::max, {scores})});
    auto const softmax = kernel.op(OpCode::div, {weights, kernel.op(OpCode::sum, {weights})});
    return kernel.build({kernel.op(OpCode::matmul, {softmax, v})});
}

TEST(ProofTails, online_softmax_over_a_prime_number_of_keys) {
    EXPECT_TRUE(Prover(plain_attention(4093)).prove(attention(4093, 64, OpCode::accumulate_rescaled)).is_proved);
    EXPECT_FALSE(Prover(plain_attention(4093)).prove(attention(4093, 64, OpCode::accumulate)).is_proved);
}

} // namespace
} // namespace espalier::verify
