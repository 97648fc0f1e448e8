#include "espalier/base/error.hpp"
#include "espalier/base/rng.hpp"
#include "espalier/verify/proof.hpp"

#include "support/doubles.hpp"

#include <gtest/gtest.h>

#include <numeric>

/// Random pairs of programs: whatever is proved equal has equal values wherever the reference is defined. The values
/// come from a plain interpreter on doubles that shares nothing with the prover.
namespace espalier::verify {
namespace {

using namespace program;
using base::InputError;
using base::Rng;
using Code = OpCode;

template <class T>
T pick(Rng& rng, std::vector<T> const& from) {
    return from[rng.below(from.size())];
}
bool happens(Rng& rng, double probability) { return rng.uniform() < probability; }

using enum OpCode;
std::vector<Code> const unary{Code::exp, square, Code::sqrt, relu, Code::log, Code::abs, reciprocal, transpose};
std::vector<Code> const rooted{Code::sqrt, square, Code::sqrt};
std::vector<Code> const binary{add, sub, mul, div, matmul, matmul, Code::pow, maximum, minimum, matmul_nt};
std::vector<Code> const along_axis{sum, sum_to, rms, rms_norm, layer_norm, center, Code::max, Code::min};
std::vector<Code> const loop_ends{Code::accumulate,  accumulate_sum, accumulate_rms,
                                  accumulate_sum_to, accumulate_max, accumulate_min};
std::vector<double> const constants{-1, 0.5, 2, 3};

Attributes random_axis(Rng& rng) {
    return Attributes::axis(happens(rng, 0.5) ? -1 : -2).with(AttributeName::size, pick<std::int64_t>(rng, {1, 2, 3}));
}
Op random_op(Rng& rng, int tensors) {
    auto const operand = [&] { return static_cast<int>(rng.below(static_cast<std::uint64_t>(tensors))); };
    auto const kind = rng.below(6);
    if (kind == 5)
        return {happens(rng, 0.5) ? scale : shift,
                Attributes().with(AttributeName::by, std::vector{pick(rng, constants)}),
                {operand()}};
    if (kind == 0) return {pick(rng, unary), {}, {operand()}};
    if (kind == 4) return {pick(rng, rooted), {}, {tensors - 1}}; // laws of roots need chains
    if (kind == 1) return {pick(rng, along_axis), random_axis(rng), {operand()}};
    return {pick(rng, binary), {}, {operand(), operand()}};
}

TensorIds count_up(std::size_t count) {
    TensorIds out;
    while (out.size() < count) out.emplace_back(static_cast<int>(out.size()));
    return out;
}
int tensor_count(Graph const& graph) { return static_cast<int>(graph.inputs.size() + graph.ops.size()); }
TensorId newest(Graph const& graph) { return TensorId{tensor_count(graph) - 1}; }
using Renamed = base::IndexedVector<TensorId, TensorId>; ///< where each tensor of another graph is

using Sizes = std::vector<std::int64_t>;

Graph random_program(Rng& rng, Sizes const& sizes) {
    auto const m = pick(rng, sizes), k = pick(rng, sizes);
    auto const n = happens(rng, 0.5) ? k : pick(rng, sizes);
    Graph graph{.inputs = {{"", {m, k}}, {"", {k, n}}, {"", {m, k}}}};
    auto const count = 1 + rng.below(4);
    while (graph.ops.size() < count) {
        graph.ops.push_back(random_op(rng, tensor_count(graph)));
        try {
            static_cast<void>(infer(graph));
        } catch (InputError const&) {
            graph.ops.pop_back();
        }
    }
    graph.outputs = {tensor_count(graph) - 1};
    return graph;
}

Schedule random_schedule(Rng& rng, std::size_t inputs) {
    auto const parts = [&] { return pick<std::int64_t>(rng, {1, 1, 2, 2, 3}); };
    auto const dim = [&] { return static_cast<int>(rng.below(3)) - 1; };
    Schedule out{.grid = {parts(), parts(), 1}, .loop = parts()};
    for (std::size_t i = 0; i < inputs; ++i) out.inputs.push_back({{dim(), dim(), -1}, dim()});
    out.output = {static_cast<int>(rng.below(2)), static_cast<int>(rng.below(2)), -1};
    return out;
}

/// The ops of a graph as one block on random tiles, with accumulators wherever they happen to be; mostly not legal.
Graph as_block(Rng& rng, Graph const& graph, std::vector<Shape> const& operands) {
    Graph block{.level = Level::block, .schedule = random_schedule(rng, operands.size())};
    for (std::size_t i = 0; i < operands.size(); ++i) {
        auto& partition = block.schedule.inputs[i];
        partition = with_tails(partition, operands[i], block.schedule);
        block.inputs.push_back({"", tile_shape(operands[i], partition, block.schedule)});
    }
    Renamed now(count_up(operands.size()));
    base::IndexedVector<TensorId, bool> is_after(operands.size());
    auto const is_whole = [&](TensorId tensor) { // in every step, so that it may be read after the loop as it is
        auto const input = static_cast<std::size_t>(tensor.value);
        return input < operands.size() && block.schedule.inputs[input].loop < 0 && happens(rng, 0.5);
    };
    auto const end_loop = [&](TensorId& tensor) {
        if (is_after[tensor] || is_whole(tensor)) return;
        block.ops.push_back({happens(rng, 0.7) ? Code::accumulate : pick(rng, loop_ends), random_axis(rng), {tensor}});
        is_after.push_back(true);
        tensor = newest(block);
    };
    for (auto op : graph.ops) {
        bool any_after = happens(rng, 0.2);
        for (auto& id : op.inputs) {
            id = now[id];
            any_after = any_after || is_after[id];
        }
        if (any_after) std::ranges::for_each(op.inputs, end_loop);
        block.ops.push_back(op);
        is_after.push_back(any_after);
        now.push_back(newest(block));
    }
    end_loop(now.back());
    block.outputs = {now.back()};
    return block;
}

/// Ops one by one into a new graph, which may number tensors otherwise.
template <class Emit>
Graph rebuild(Graph const& graph, Emit&& emit) {
    Graph out{.inputs = graph.inputs};
    Renamed now(count_up(graph.inputs.size()));
    for (auto op : graph.ops) {
        for (auto& id : op.inputs) id = now[id];
        emit(out, op);
        now.push_back(newest(out));
    }
    out.outputs = {now.back()};
    return out;
}
TensorId emit(Graph& out, Op op) {
    out.ops.push_back(std::move(op));
    return newest(out);
}

Op const* maker_of(Graph const& graph, TensorId tensor) {
    auto const at = tensor.value - static_cast<int>(graph.inputs.size());
    return at < 0 ? nullptr : &graph.ops[program::OpId{at}];
}
/// By a law that holds only where both sides are defined, if one fits.
bool emit_bent(Graph& out, Op const& op) {
    auto const is = [&](std::size_t i, Code code) {
        auto const* maker = maker_of(out, op.inputs[i]);
        return maker && maker->code == code;
    };
    auto const under = [&](std::size_t i) { return maker_of(out, op.inputs[i])->inputs; };
    auto const root = [&](TensorId of) { return emit(out, {Code::sqrt, {}, {of}}); };
    if (op.code == Code::sqrt && is(0, mul)) {
        auto const factors = under(0);
        auto const left = root(factors[0]);
        emit(out, {mul, {}, {left, root(factors[1])}});
    } else if (op.code == Code::sqrt && is(0, square)) {
        emit(out, {square, {}, {root(under(0)[0])}});
    } else if (op.code == square && is(0, Code::sqrt)) {
        auto const inside = under(0)[0];
        root(emit(out, {mul, {}, {inside, inside}}));
    } else if (op.code == mul && is(0, Code::sqrt) && is(1, Code::sqrt)) {
        root(emit(out, {mul, {}, {under(0)[0], under(1)[0]}}));
    } else if (op.code == div && is(1, div)) {
        auto const quotient = under(1);
        emit(out, {div, {}, {emit(out, {mul, {}, {op.inputs[0], quotient[1]}}), quotient[0]}});
    } else if (op.code == div && is(0, mul)) {
        auto const factors = under(0);
        emit(out, {div, {}, {factors[0], emit(out, {div, {}, {op.inputs[1], factors[1]}})}});
    } else if (op.code == div && is(0, div)) {
        auto const quotient = under(0);
        emit(out, {div, {}, {quotient[0], emit(out, {mul, {}, {quotient[1], op.inputs[1]}})}});
    } else {
        return false;
    }
    return true;
}

/// The same function in other ops.
void emit_rewritten(Graph& out, Op const& op) {
    auto const& in = op.inputs;
    if (op.code == add || op.code == mul)
        emit(out, {op.code, {}, {in[1], in[0]}});
    else if (op.code == square)
        emit(out, {mul, {}, {in[0], in[0]}});
    else if (op.code == rms_norm)
        emit(out, {div, {}, {in[0], emit(out, {rms, op.attributes, in})}});
    else if (op.code == sum)
        emit(out, {sum_to, op.attributes.with(AttributeName::size, 1), in});
    else
        emit(out, op);
}
/// All of `ops`, on some tensors, as one graph-defined kernel.
void emit_as_kernel(Rng& rng, Graph& out, Graph const& ops, TensorIds const& operands) {
    auto const infos = infer(out);
    std::vector<Shape> shapes;
    for (auto const id : operands) shapes.push_back(infos[id].shape);
    emit(out, {graph, {}, operands, static_cast<int>(out.bodies.size())});
    out.bodies.push_back(as_block(rng, ops, shapes));
}
Graph with_kernels(Rng& rng, Graph const& from) {
    return rebuild(from, [&](Graph& out, Op const& op) {
        Graph one{.ops = {op}};
        one.ops.back().inputs = count_up(op.inputs.size());
        happens(rng, 0.6) ? emit_as_kernel(rng, out, one, op.inputs) : static_cast<void>(emit(out, op));
    });
}
Graph as_one_kernel(Rng& rng, Graph const& from) {
    Graph out{.inputs = from.inputs};
    emit_as_kernel(rng, out, from, count_up(from.inputs.size()));
    out.outputs = {static_cast<int>(from.inputs.size())};
    return out;
}
Graph random_variant(Rng& rng, Graph const& from) {
    auto const out = rebuild(from, [&](Graph& to, Op const& op) {
        if (happens(rng, 0.5) && emit_bent(to, op)) return;
        emit_rewritten(to, happens(rng, 0.12) ? random_op(rng, tensor_count(to)) : op);
    });
    static_cast<void>(infer(out));
    if (happens(rng, 0.2)) return out;
    return happens(rng, 0.6) ? as_one_kernel(rng, out) : with_kernels(rng, out);
}
/// A legal program with an output of the same shape; often the reference itself.
Graph variant(Rng& rng, Graph const& reference) {
    for (int attempt = 0; attempt < 300; ++attempt) {
        try {
            auto out = random_variant(rng, reference);
            if (infer(out).back().shape == infer(reference).back().shape) return out;
        } catch (InputError const&) {} // the next one
    }
    return reference;
}

bool have_equal_values(Rng& rng, Graph const& reference, Graph const& candidate) {
    return std::ranges::all_of(doubles::telling_inputs(reference, rng), [&](doubles::Tensors const& inputs) {
        return doubles::is_replaced_by(reference, candidate, inputs);
    });
}

struct Found {
    int proved = 0, different = 0;
};
/// Of candidates that are not the reference itself and that `is_asked`.
template <class IsAsked>
Found check_random_pairs(Rng& rng, Sizes const& sizes, int rounds, IsAsked&& is_asked) {
    Found out;
    for (int round = 0; round < rounds; ++round) {
        auto const reference = random_program(rng, sizes);
        auto const candidate = variant(rng, reference);
        if (candidate == reference || !is_asked(candidate)) continue;

        auto const is_proved = Prover(reference).prove(candidate).is_proved;
        auto const is_equal = have_equal_values(rng, reference, candidate);

        EXPECT_TRUE(is_equal || !is_proved) << "round " << round;
        out.proved += is_proved;
        out.different += !is_equal;
    }
    return out;
}

TEST(ProofSoundness, proved_programs_have_equal_values) {
    Rng rng(base::Seed{20});

    auto const [proved, different] = check_random_pairs(rng, {2, 3, 4, 6}, 5000, [](Graph const&) { return true; });

    EXPECT_GT(proved, 500);
    EXPECT_GT(different, 500);
}

TEST(ProofSoundness, proved_programs_with_smaller_last_tiles_have_equal_values) {
    Rng rng(base::Seed{21});

    auto const [proved, different] = check_random_pairs(rng, {3, 5, 7}, 30'000, has_tails);

    EXPECT_GT(proved, 500);
    EXPECT_GT(different, 500);
}

} // namespace
} // namespace espalier::verify
