#pragma once

#include "espalier/program/graph.hpp"

#include <string>
#include <utility>
#include <vector>

/// Graphs for tests, and the builder that writes them.
namespace espalier::programs {

using program::Attributes;
using program::Graph;
using program::OpCode;
using program::Schedule;
using program::Shape;

/// Numbers as ids.
inline program::TensorIds ids(std::vector<int> const& numbers) {
    program::TensorIds out;
    for (auto const number : numbers) out.emplace_back(number);
    return out;
}

/// Writes a graph: every call adds an input or an op and returns the number of its (first) tensor. Inputs come first.
class GraphBuilder {
public:
    GraphBuilder() = default;
    explicit GraphBuilder(program::Level level) { graph_.level = level; }
    /// A block graph.
    explicit GraphBuilder(Schedule schedule) {
        graph_.level = program::Level::block;
        graph_.schedule = std::move(schedule);
    }
    int input(Shape const& shape, std::string name = {}) {
        graph_.inputs.push_back({std::move(name), shape});
        return tensors_++;
    }
    int op(OpCode code, std::vector<int> const& operands, Attributes attributes = {}) {
        graph_.ops.push_back({code, std::move(attributes), ids(operands), -1});
        return tensors_++;
    }
    /// A graph of the next level.
    int graph(Graph body, std::vector<int> const& operands) {
        auto const first = tensors_;
        tensors_ += static_cast<int>(body.outputs.size());
        graph_.ops.push_back({OpCode::graph, {}, ids(operands), static_cast<int>(graph_.bodies.size())});
        graph_.bodies.push_back(std::move(body));
        return first;
    }
    [[nodiscard]] Graph build(std::vector<int> const& outputs) const {
        auto out = graph_;
        out.outputs = ids(outputs);
        return out;
    }
    [[nodiscard]] Graph const& so_far() const { return graph_; }
    [[nodiscard]] int tensors() const { return tensors_; }

private:
    Graph graph_;
    int tensors_ = 0;
};

/// Sizes of X [rows, inner] and W [inner, columns].
struct LinearSizes {
    std::int64_t rows = 2, inner = 12, columns = 10;
};
/// Blocks along the columns, steps along the inner dimension.
struct SplitSizes {
    std::int64_t blocks = 5, steps = 3;
};

/// rms_norm(X) W.
inline Graph rms_linear(LinearSizes const& n) {
    GraphBuilder kernel;
    auto const x = kernel.input({n.rows, n.inner}, "X"), w = kernel.input({n.inner, n.columns}, "W");
    return kernel.build({kernel.op(OpCode::matmul, {kernel.op(OpCode::rms_norm, {x}), w})});
}

/// What a variant of the fused kernel does differently from the right one.
struct FusedOptions {
    OpCode norm_accumulator = OpCode::accumulate_rms;
    OpCode product_accumulator = OpCode::accumulate;
    bool divides_norm = false; ///< norm / product
};
/// The block graph of rms_norm(X) W in one kernel: the division comes after the product, both sums are in one loop.
inline Graph fused_rms_linear_block(LinearSizes const& n, SplitSizes const& split, FusedOptions const& options = {}) {
    Schedule schedule{.grid = {split.blocks, 1, 1}, .loop = split.steps, .output = {1, -1, -1}};
    schedule.inputs = {{{-1, -1, -1}, 1}, {{1, -1, -1}, 0}};
    GraphBuilder block(schedule);
    auto const x = block.input({n.rows, n.inner / split.steps});
    auto const w = block.input({n.inner / split.steps, n.columns / split.blocks});
    auto const product = block.op(options.product_accumulator, {block.op(OpCode::matmul, {x, w})});
    auto const norm = block.op(options.norm_accumulator, {x});
    return block.build(
        {options.divides_norm ? block.op(OpCode::div, {norm, product}) : block.op(OpCode::div, {product, norm})});
}
inline Graph fused_rms_linear(LinearSizes const& n, SplitSizes const& split, FusedOptions const& options = {}) {
    GraphBuilder kernel;
    auto const x = kernel.input({n.rows, n.inner}, "X"), w = kernel.input({n.inner, n.columns}, "W");
    return kernel.build({kernel.graph(fused_rms_linear_block(n, split, options), {x, w})});
}

/// silu(X W) * (X V).
inline Graph gated_mlp(LinearSizes const& n) {
    GraphBuilder kernel;
    auto const x = kernel.input({n.rows, n.inner}, "X");
    auto const w = kernel.input({n.inner, n.columns}, "W"), v = kernel.input({n.inner, n.columns}, "V");
    auto const gate = kernel.op(OpCode::silu, {kernel.op(OpCode::matmul, {x, w})});
    return kernel.build({kernel.op(OpCode::mul, {gate, kernel.op(OpCode::matmul, {x, v})})});
}
/// The same in one kernel.
inline Graph fused_gated_mlp(LinearSizes const& n, SplitSizes const& split) {
    GraphBuilder kernel;
    auto const x = kernel.input({n.rows, n.inner}, "X");
    auto const w = kernel.input({n.inner, n.columns}, "W"), v = kernel.input({n.inner, n.columns}, "V");
    Schedule schedule{.grid = {split.blocks, 1, 1}, .loop = split.steps, .output = {1, -1, -1}};
    schedule.inputs = {{{-1, -1, -1}, 1}, {{1, -1, -1}, 0}, {{1, -1, -1}, 0}};
    GraphBuilder block(schedule);
    auto const xb = block.input({n.rows, n.inner / split.steps});
    auto const wb = block.input({n.inner / split.steps, n.columns / split.blocks});
    auto const vb = block.input({n.inner / split.steps, n.columns / split.blocks});
    auto const left = block.op(OpCode::accumulate, {block.op(OpCode::matmul, {xb, wb})});
    auto const right = block.op(OpCode::accumulate, {block.op(OpCode::matmul, {xb, vb})});
    auto const body = block.build({block.op(OpCode::mul, {block.op(OpCode::silu, {left}), right})});
    return kernel.build({kernel.graph(body, {x, w, v})});
}

} // namespace espalier::programs
