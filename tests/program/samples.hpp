#pragma once

#include "espalier/program/source.hpp"

#include <string>
#include <vector>

/// Programs of several levels that a person can check by hand, and helpers to write them.
namespace espalier::program::samples {

inline Op op(OpCode code, TensorIds inputs, Attributes attributes = {}) {
    return {code, std::move(attributes), std::move(inputs), -1};
}
inline Op graph_op(TensorIds inputs, int body = 0) { return {OpCode::graph, {}, std::move(inputs), body}; }

inline Source source_of(std::string_view builtin) {
    auto const* found = find_builtin(builtin);
    std::vector<std::int64_t> sizes;
    for (auto const& key : found->keys) sizes.push_back(key.default_size);
    return found->make(sizes);
}

/// (X W) / rms(X) in one kernel: X [2, 4096], W [4096, 6144] on 96 blocks, 64 steps.
inline Graph fused_rmsnorm() {
    Graph block;
    block.level = Level::block;
    block.inputs = {{"", {2, 64}}, {"", {64, 64}}};
    block.ops = {op(OpCode::matmul, {0, 1}), op(OpCode::accumulate, {2}),
                 op(OpCode::accumulate_rms, {0}, Attributes::axis(-1)), op(OpCode::div, {3, 4})};
    block.outputs = {5};
    block.schedule.grid = {96, 1, 1};
    block.schedule.loop = 64;
    block.schedule.inputs = {{{-1, -1, -1}, 1}, {{1, -1, -1}, 0}};
    block.schedule.output = {1, -1, -1};

    Graph kernel;
    kernel.inputs = {{"X", {2, 4096}}, {"W", {4096, 6144}}};
    kernel.ops = {graph_op({0, 1})};
    kernel.outputs = {2};
    kernel.bodies = {block};
    return kernel;
}

/// The block of X W + relu(b): tiles of x and w for every step of the loop, of b for all of them.
inline Graph biased_linear(std::int64_t loop) {
    Graph block;
    block.level = Level::block;
    block.inputs = {{"", {2, 3}}, {"", {3, 5}}, {"", {1, 5}}};
    block.ops = {op(OpCode::matmul, {0, 1}), op(OpCode::accumulate, {3}), op(OpCode::relu, {2}),
                 op(OpCode::add, {4, 5})};
    block.outputs = {6};
    block.schedule.loop = loop;
    block.schedule.inputs = {{{-1, -1, -1}, 1}, {{-1, -1, -1}, 0}, {}};
    return block;
}
/// Of X [2, 12] and W [12, 5] in 4 steps.
inline Graph fused_biased_linear() {
    Graph kernel;
    kernel.inputs = {{"X", {2, 12}}, {"W", {12, 5}}, {"b", {1, 5}}};
    kernel.ops = {graph_op({0, 1, 2})};
    kernel.outputs = {3};
    kernel.bodies = {biased_linear(4)};
    return kernel;
}

/// silu(X W1) * (X W2) in one kernel: X [8, 4096], W1 and W2 [4096, 4096] on 64 blocks, 64 steps.
inline Graph fused_gated_mlp() {
    Graph block;
    block.level = Level::block;
    block.inputs = {{"", {8, 64}}, {"", {64, 64}}, {"", {64, 64}}};
    block.ops = {op(OpCode::matmul, {0, 1}),  op(OpCode::matmul, {0, 2}), op(OpCode::accumulate, {3}),
                 op(OpCode::accumulate, {4}), op(OpCode::silu, {5}),      op(OpCode::mul, {7, 6})};
    block.outputs = {8};
    block.schedule.grid = {64, 1, 1};
    block.schedule.loop = 64;
    block.schedule.inputs = {{{-1, -1, -1}, 1}, {{1, -1, -1}, 0}, {{1, -1, -1}, 0}};
    block.schedule.output = {1, -1, -1};

    Graph kernel;
    kernel.inputs = {{"X", {8, 4096}}, {"W1", {4096, 4096}}, {"W2", {4096, 4096}}};
    kernel.ops = {graph_op({0, 1, 2})};
    kernel.outputs = {3};
    kernel.bodies = {block};
    return kernel;
}

/// Attention for few queries: the first kernel splits the keys in 4 and outputs partial sums of P V and of P, two
/// library kernels add them up, a second graph-defined kernel divides. Q [2, 8, 64], K [2, 64, 4096], V [2, 4096, 64].
inline Graph split_attention() {
    Graph first;
    first.level = Level::block;
    first.inputs = {{"", {1, 8, 64}}, {"", {1, 64, 128}}, {"", {1, 128, 64}}};
    first.ops = {op(OpCode::matmul, {0, 1}), op(OpCode::exp, {3}), op(OpCode::matmul, {4, 2}),
                 op(OpCode::accumulate, {5}), op(OpCode::accumulate_sum, {4}, Attributes::axis(-1))};
    first.outputs = {6, 7};
    first.schedule.grid = {2, 4, 1};
    first.schedule.loop = 8;
    first.schedule.inputs = {{{0, -1, -1}, -1}, {{0, 2, -1}, 2}, {{0, 1, -1}, 1}};
    first.schedule.output = {0, 2, -1};

    Graph second;
    second.level = Level::block;
    second.inputs = {{"", {1, 8, 64}}, {"", {1, 8, 1}}};
    second.ops = {op(OpCode::div, {0, 1})};
    second.outputs = {2};
    second.schedule.grid = {2, 1, 1};
    second.schedule.threads = 256;
    second.schedule.inputs = {{{0, -1, -1}, -1}, {{0, -1, -1}, -1}};
    second.schedule.output = {0, -1, -1};

    Graph kernel;
    kernel.inputs = {{"Q", {2, 8, 64}}, {"K", {2, 64, 4096}}, {"V", {2, 4096, 64}}};
    kernel.ops = {graph_op({0, 1, 2}, 0), op(OpCode::sum_to, {3}, Attributes::axis(-1).with(AttributeName::size, 64)),
                  op(OpCode::sum, {4}, Attributes::axis(2)), graph_op({5, 6}, 1)};
    kernel.outputs = {7};
    kernel.bodies = {first, second};
    return kernel;
}

/// All built-in programs and the samples above, with and without thread graphs.
inline std::vector<Graph> all_programs() {
    std::vector<Graph> out;
    for (auto const& builtin : builtins()) out.push_back(build(source_of(builtin.name)));
    for (auto const& graph : {fused_rmsnorm(), fused_biased_linear(), fused_gated_mlp(), split_attention()}) {
        out.push_back(graph);
        out.push_back(with_thread_graphs(graph));
    }
    return out;
}

} // namespace espalier::program::samples
