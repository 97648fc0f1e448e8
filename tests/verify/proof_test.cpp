#include "espalier/verify/proof.hpp"

#include "support/programs.hpp"

#include <gtest/gtest.h>

namespace espalier::verify {
namespace {

using namespace program;
using enum OpCode;
using Code = OpCode;

/// Builds a graph op by op; every function returns the number of a tensor.
class Builder {
public:
    explicit Builder(std::vector<Shape> const& inputs) {
        for (auto const& shape : inputs) graph_.inputs.push_back({"", shape});
    }
    /// A block graph on tiles of operands of the given shapes.
    Builder(std::vector<Shape> const& operands, Schedule schedule) {
        graph_.level = Level::block;
        for (std::size_t i = 0; i < operands.size(); ++i)
            graph_.inputs.push_back({"", tile_shape(operands[i], schedule.inputs[i], schedule)});
        graph_.schedule = std::move(schedule);
    }
    int op(Code code, std::vector<int> const& inputs, Attributes attributes = {}) {
        graph_.ops.push_back({code, std::move(attributes), programs::ids(inputs)});
        return next_++ + static_cast<int>(graph_.inputs.size());
    }
    /// The first of its outputs; the others follow.
    int kernel(std::vector<int> const& inputs, Graph body) {
        auto const outputs = static_cast<int>(body.outputs.size());
        auto const first = op(graph, inputs);
        next_ += outputs - 1;
        graph_.ops.back().body = static_cast<int>(graph_.bodies.size());
        graph_.bodies.push_back(std::move(body));
        return first;
    }
    Graph build(std::vector<int> const& outputs) {
        graph_.outputs = programs::ids(outputs);
        static_cast<void>(infer(graph_)); // throws if it is not legal
        return graph_;
    }

private:
    Graph graph_;
    int next_ = 0;
};

Attributes size_of(std::int64_t size, std::int64_t axis = -1) {
    return Attributes::axis(axis).with(AttributeName::size, size);
}

/// One kernel on all inputs, that gives all outputs.
Graph alone(std::vector<Shape> const& inputs, Graph body) {
    Builder program(inputs);
    std::vector<int> operands, outputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) operands.push_back(static_cast<int>(i));
    auto const count = body.outputs.size();
    auto const first = program.kernel(operands, std::move(body));
    for (std::size_t i = 0; i < count; ++i) outputs.push_back(first + static_cast<int>(i));
    return program.build(outputs);
}

void expect_proved(Graph const& reference, Graph const& candidate) {
    auto const proof = Prover(reference).prove(candidate);
    EXPECT_TRUE(proof.is_proved) << proof.reason;
}
void expect_not_proved(Graph const& reference, Graph const& candidate) {
    auto const proof = Prover(reference).prove(candidate);
    EXPECT_FALSE(proof.is_proved);
    EXPECT_FALSE(proof.reason.empty());
}

/// RMSNorm + linear: X [2, 4096], W [4096, 6144].
std::vector<Shape> const norm_inputs{{2, 4096}, {4096, 6144}};

Graph norm_then_linear() {
    Builder program(norm_inputs);
    auto const normed = program.op(rms_norm, {0});
    return program.build({program.op(matmul, {normed, 1})});
}

struct FusedNorm {
    Schedule schedule{.grid = {96, 1, 1},
                      .loop = 64,
                      .inputs = {Partition{.loop = 1}, Partition{.grid = {1, -1, -1}, .loop = 0}},
                      .output = {1, -1, -1}};
    Code of_product = accumulate;
    Code of_input = accumulate_rms;
    std::array<int, 2> quotient{3, 4}; ///< tensors: x, w, product, its accumulator, norm
};
Graph make(FusedNorm const& fused) {
    Builder block(norm_inputs, fused.schedule);
    auto const product = block.op(matmul, {0, 1});
    block.op(fused.of_product, {product});
    block.op(fused.of_input, {0});
    auto const [top, bottom] = fused.quotient;
    return alone(norm_inputs, block.build({block.op(div, {top, bottom})}));
}

TEST(Proof, a_norm_moves_behind_the_product_in_one_kernel) { expect_proved(norm_then_linear(), make({})); }

TEST(Proof, any_grid_and_loop_that_divide_give_the_same_function) {
    for (auto const grid : {1, 2, 3, 48, 6144})
        for (auto const loop : {1, 2, 4096}) {
            FusedNorm fused;
            fused.schedule.grid[0] = grid;
            fused.schedule.loop = loop;
            expect_proved(norm_then_linear(), make(fused));
        }
}

TEST(Proof, a_norm_of_another_kind_is_another_function) {
    FusedNorm sum_not_rms, inverse;
    sum_not_rms.of_input = accumulate_sum;
    inverse.quotient = {4, 3};

    expect_not_proved(norm_then_linear(), make(sum_not_rms));
    expect_not_proved(norm_then_linear(), make(inverse));
}

TEST(Proof, a_loop_over_a_tensor_that_it_does_not_split_multiplies) {
    // Both whole in every step: the product is 64 times too large, the norm is not.
    FusedNorm fused;
    fused.schedule.inputs = {Partition{}, Partition{.grid = {1, -1, -1}}};

    expect_not_proved(norm_then_linear(), make(fused));
}

TEST(Proof, a_layer_norm_is_not_an_rms_norm) {
    Builder program(norm_inputs);
    auto const other = program.build({program.op(matmul, {program.op(layer_norm, {0}), 1})});

    expect_not_proved(norm_then_linear(), other);
}

Graph norm_of_primitives(Code of_values) {
    Builder program(norm_inputs);
    auto const squares = program.op(sum, {program.op(of_values, {0})});
    auto const normed = program.op(div, {0, program.op(sqrt, {squares})});
    return program.build({program.op(matmul, {normed, 1})});
}
Graph fused_norm_of_primitives() {
    Builder block(norm_inputs, FusedNorm{}.schedule);
    auto const product = block.op(accumulate, {block.op(matmul, {0, 1})});
    auto const root = block.op(sqrt, {block.op(accumulate_sum, {block.op(mul, {0, 0})})});
    return alone(norm_inputs, block.build({block.op(div, {product, root})}));
}

TEST(Proof, a_norm_of_primitive_ops_moves_too) {
    expect_proved(norm_of_primitives(square), fused_norm_of_primitives());
    expect_not_proved(norm_of_primitives(exp), fused_norm_of_primitives());
    expect_not_proved(norm_then_linear(), fused_norm_of_primitives());
}

TEST(Proof, sums_over_parts_of_k_need_an_accumulator) {
    // K is split over the grid and the parts are joined along N: twice too wide, so each half is compared by a sum_to.
    std::vector<Shape> const inputs{{4, 8}, {8, 6}};
    Builder program(inputs);
    auto const reference = program.build({program.op(matmul, {0, 1})});
    auto const split = [&](Attributes const& attributes) {
        Builder block(inputs, {.grid = {2, 1, 1},
                               .inputs = {Partition{.grid = {1, -1, -1}}, Partition{.grid = {0, -1, -1}}},
                               .output = {1, -1, -1}});
        Builder both(inputs);
        auto const parts = both.kernel({0, 1}, block.build({block.op(matmul, {0, 1})}));
        return both.build({both.op(sum_to, {parts}, attributes)});
    };

    expect_proved(reference, split(size_of(6)));
    expect_not_proved(reference, split(size_of(4, 0)));
    expect_not_proved(reference, split(size_of(3)));
}

/// gated MLP: silu(X U) * (X V).
std::vector<Shape> const gate_inputs{{8, 4096}, {4096, 4096}, {4096, 4096}};

Graph gated() {
    Builder program(gate_inputs);
    auto const gate = program.op(silu, {program.op(matmul, {0, 1})});
    return program.build({program.op(mul, {gate, program.op(matmul, {0, 2})})});
}
Graph fused_gate(Code function, std::array<int, 2> weights, Partition const& of_last) {
    Schedule const schedule{.grid = {64, 1, 1},
                            .loop = 64,
                            .inputs = {{.loop = 1}, {.grid = {1, -1, -1}, .loop = 0}, of_last},
                            .output = {1, -1, -1}};
    Builder block(gate_inputs, schedule);
    auto const gate = block.op(accumulate, {block.op(matmul, {0, weights[0]})});
    auto const up = block.op(accumulate, {block.op(matmul, {0, weights[1]})});
    return alone(gate_inputs, block.build({block.op(mul, {up, block.op(function, {gate})})}));
}

TEST(Proof, a_gated_mlp_is_one_kernel) {
    Partition const by_column{.grid = {1, -1, -1}, .loop = 0};

    expect_proved(gated(), fused_gate(silu, {1, 2}, by_column));
    expect_not_proved(gated(), fused_gate(gelu, {1, 2}, by_column));
    expect_not_proved(gated(), fused_gate(silu, {2, 1}, by_column));
    expect_not_proved(gated(), fused_gate(silu, {1, 1}, by_column));
}

TEST(Proof, the_loop_and_the_grid_may_not_change_places) {
    // The last operand is square: swapping what grid and loop split is legal, but reads another tile.
    expect_not_proved(gated(), fused_gate(silu, {1, 2}, {.grid = {0, -1, -1}, .loop = 1}));
}

TEST(Proof, a_function_does_not_move_over_a_sum) {
    Builder block(gate_inputs,
                  {.grid = {64, 1, 1},
                   .loop = 64,
                   .inputs = {{.loop = 1}, {.grid = {1, -1, -1}, .loop = 0}, {.grid = {1, -1, -1}, .loop = 0}},
                   .output = {1, -1, -1}});
    auto const gate = block.op(accumulate, {block.op(silu, {block.op(matmul, {0, 1})})});
    auto const up = block.op(accumulate, {block.op(matmul, {0, 2})});

    expect_not_proved(gated(), alone(gate_inputs, block.build({block.op(mul, {gate, up})})));
}

/// LoRA: X W + (X A) B.
std::vector<Shape> const lora_inputs{{16, 4096}, {4096, 4096}, {4096, 16}, {16, 4096}};

Graph lora() {
    Builder program(lora_inputs);
    auto const low_rank = program.op(matmul, {program.op(matmul, {0, 2}), 3});
    return program.build({program.op(add, {program.op(matmul, {0, 1}), low_rank})});
}
Graph concatenated(std::array<int, 4> operands) {
    Builder program(lora_inputs);
    program.op(matmul, {0, 2}); // tensor 4
    return program.build({program.op(concat_matmul, {operands.begin(), operands.end()})});
}

TEST(Proof, a_low_rank_update_is_one_product_of_concatenations) {
    expect_proved(lora(), concatenated({0, 4, 1, 3}));
    expect_proved(lora(), concatenated({4, 0, 3, 1}));
}

TEST(Proof, the_parenthesis_of_a_product_does_not_matter_but_its_operands_do) {
    Builder program(lora_inputs);
    auto const update = program.op(matmul, {2, 3});
    auto const sum_first = program.build({program.op(matmul, {0, program.op(add, {1, update})})});
    Builder wrong(lora_inputs);
    auto const twice = wrong.op(matmul, {0, 1});

    expect_proved(lora(), sum_first);
    expect_not_proved(lora(), wrong.build({wrong.op(add, {twice, twice})}));
}

/// attention without a maximum, keys split over blocks: Q [2, 16, 64], K [2, 64, 1024], V [2, 1024, 64].
std::vector<Shape> const attention_inputs{{2, 16, 64}, {2, 64, 1024}, {2, 1024, 64}};

Graph attention() {
    Builder program(attention_inputs);
    auto const weights = program.op(exp, {program.op(matmul, {0, 1})});
    auto const shares = program.op(div, {weights, program.op(sum, {weights})});
    return program.build({program.op(matmul, {shares, 2})});
}

struct SplitAttention {
    Code function = exp;
    Code of_weights = accumulate_sum;
    Code of_parts = accumulate_sum;
    std::array<int, 3> join{0, 2, -1}; ///< omap of the first kernel
    std::int64_t second_loop = 4;
};
Graph make(SplitAttention const& split) {
    Schedule const first{
        .grid = {2, 8, 1},
        .loop = 4,
        .inputs = {{.grid = {0, -1, -1}}, {.grid = {0, 2, -1}, .loop = 2}, {.grid = {0, 1, -1}, .loop = 1}},
        .output = split.join};
    Builder block(attention_inputs, first);
    auto const weights = block.op(split.function, {block.op(matmul, {0, 1})});
    auto const values = block.op(accumulate, {block.op(matmul, {weights, 2})});
    auto const totals = block.op(split.of_weights, {weights});
    Builder program(attention_inputs);
    auto const parts = program.kernel({0, 1, 2}, block.build({values, totals}));

    auto const dim = split.join[1]; // [2, 16, 8 * 64] and [2, 16, 8], or [2, 8 * 16, 64] and [2, 8 * 16, 1]
    Partition const partition{.grid = {0, -1, -1}, .loop = dim};
    Builder second(
        {joined_shape({1, 16, 64}, first), joined_shape({1, 16, 1}, first)},
        {.grid = {2, 1, 1}, .loop = split.second_loop, .inputs = {partition, partition}, .output = {0, -1, -1}});
    auto const numerator = second.op(accumulate_sum_to, {0}, size_of(dim == 2 ? 64 : 16, dim));
    auto const denominator =
        dim == 2 ? second.op(split.of_parts, {1}) : second.op(accumulate_sum_to, {1}, size_of(16, 1));
    auto const quotient = second.op(div, {numerator, denominator});
    return program.build({program.kernel({parts, parts + 1}, second.build({quotient}))});
}

TEST(Proof, attention_is_split_over_keys) {
    for (auto const loop : {1, 2, 4, 8}) {
        expect_proved(attention(), make(SplitAttention{.second_loop = loop}));
        expect_proved(attention(), make(SplitAttention{.join = {0, 1, -1}, .second_loop = loop}));
    }
}

TEST(Proof, attention_with_one_thing_changed_is_not_proved) {
    expect_not_proved(attention(), make(SplitAttention{.function = silu}));
    expect_not_proved(attention(), make(SplitAttention{.of_weights = accumulate_rms}));
    expect_not_proved(attention(), make(SplitAttention{.of_parts = accumulate_rms}));
}

TEST(Proof, partial_sums_that_do_not_stand_split_major_are_not_summed_by_split) {
    // Columns of the result: part of N, then split of K, then column of the part.
    std::vector<Shape> const inputs{{4, 32}, {32, 8}};
    Builder plain(inputs);
    auto const reference = plain.build({plain.op(matmul, {0, 1})});
    Builder block(inputs,
                  {.grid = {2, 2, 1}, .inputs = {{.grid = {-1, 1, -1}}, {.grid = {1, 0, -1}}}, .output = {1, 1, -1}});
    Builder program(inputs);
    auto const parts = program.kernel({0, 1}, block.build({block.op(matmul, {0, 1})}));

    expect_not_proved(reference, program.build({program.op(sum_to, {parts}, size_of(8))}));
}

TEST(Proof, thread_graphs_are_looked_into) {
    std::vector<Shape> const inputs{{4, 6}, {4, 1}};
    auto const tiled = [&](program::TensorIds const& operands) {
        Graph thread{.level = Level::thread, .inputs = {{"", {4, 3}}, {"", {4, 1}}}};
        thread.ops = {{relu, {}, {0}}, {div, {}, operands}};
        thread.outputs = {2, 3};
        Builder block(inputs, {.grid = {2, 1, 1}, .inputs = {{.grid = {1, -1, -1}}, {}}, .output = {1, -1, -1}});
        auto const first = block.kernel({0, 1}, thread);
        return alone(inputs, block.build({first, first + 1}));
    };
    Builder program(inputs);
    auto const above = program.op(relu, {0});
    auto const reference = program.build({above, program.op(div, {above, 1})});

    expect_proved(reference, tiled({2, 1}));
    expect_not_proved(reference, tiled({0, 1}));
}

Graph product(std::vector<Shape> const& inputs) {
    Builder program(inputs);
    return program.build({program.op(matmul, {0, 1})});
}
Graph tiled_product(std::vector<Shape> const& inputs, Schedule const& schedule) {
    Builder block(inputs, schedule);
    return alone(inputs, block.build({block.op(accumulate, {block.op(matmul, {0, 1})})}));
}

TEST(Proof, batched_products_are_tiled_in_every_dimension) {
    std::vector<Shape> const inputs{{6, 32, 64}, {6, 64, 48}};
    Schedule schedule{.grid = {3, 4, 8},
                      .loop = 16,
                      .inputs = {{.grid = {0, 1, -1}, .loop = 2}, {.grid = {0, -1, 2}, .loop = 1}},
                      .output = {0, 1, 2}};
    expect_proved(product(inputs), tiled_product(inputs, schedule));

    schedule.inputs[1].grid = {0, 2, -1}; // columns by the axis that splits rows, and joined by another
    schedule.grid[2] = 4;
    expect_not_proved(product(inputs), tiled_product(inputs, schedule));
}

TEST(Proof, odd_sizes_are_split_as_they_divide) {
    for (auto const& [grid, loop] : {std::pair{8, 125}, {125, 24}, {3, 1000}, {375, 8}}) {
        std::vector<Shape> const inputs{{3, 3000}, {3000, 3000}};
        Schedule const schedule{.grid = {grid, 1, 1},
                                .loop = loop,
                                .inputs = {{.loop = 1}, {.grid = {1, -1, -1}, .loop = 0}},
                                .output = {1, -1, -1}};
        expect_proved(product(inputs), tiled_product(inputs, schedule));
    }
    std::vector<Shape> const prime{{5, 64}, {64, 4093}};
    expect_proved(product(prime), tiled_product(prime, {.grid = {4093, 1, 1},
                                                        .loop = 2,
                                                        .inputs = {{.loop = 1}, {.grid = {1, -1, -1}, .loop = 0}},
                                                        .output = {1, -1, -1}}));
}

TEST(Proof, kernels_with_different_tiles_follow_each_other) {
    // 8 blocks of 375 columns, then 12 of 250: no common tiles, but whole columns on both sides.
    std::vector<Shape> const inputs{{3, 40}, {40, 3000}};
    auto const tiled = [&](std::int64_t loop, std::int64_t last_grid) {
        Builder block(inputs, {.grid = {8, 1, 1},
                               .loop = loop,
                               .inputs = {{.loop = 1}, {.grid = {1, -1, -1}, .loop = 0}},
                               .output = {1, -1, -1}});
        Builder program(inputs);
        auto const first = program.kernel({0, 1}, block.build({block.op(accumulate, {block.op(matmul, {0, 1})})}));
        Builder last({{3, 3000}},
                     {.grid = {last_grid, 1, 1}, .inputs = {{.grid = {1, -1, -1}}}, .output = {1, -1, -1}});
        return program.build({program.kernel({first}, last.build({last.op(relu, {0})}))});
    };
    Builder plain(inputs);
    auto const reference = plain.build({plain.op(relu, {plain.op(matmul, {0, 1})})});

    expect_proved(reference, tiled(5, 12));
    expect_proved(reference, tiled(10, 8));
}

} // namespace
} // namespace espalier::verify
