#include "espalier/base/error.hpp"
#include "espalier/base/rng.hpp"
#include "espalier/verify/proof.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <utility>

/// Random pairs of programs: whatever is proved equal has equal values. The values come from a plain interpreter on
/// doubles that shares nothing with the prover.
namespace espalier::verify {
namespace {

using namespace program;
using base::InputError;
using base::Rng;
using Code = OpCode;
using Index = std::vector<std::int64_t>;

struct Tensor {
    Shape shape;
    std::vector<double> values;

    explicit Tensor(Shape const& of = {}) : shape(of), values(static_cast<std::size_t>(element_count(of))) {}
    /// Right-aligned; wraps around, so that a dimension of size 1 is read at 0 and a reduction adds to its columns.
    [[nodiscard]] std::size_t at(Index const& index) const {
        std::int64_t flat = 0;
        auto const skip = static_cast<int>(index.size()) - shape.rank();
        for (int d = 0; d < shape.rank(); ++d)
            flat = flat * shape[d] + index[static_cast<std::size_t>(skip + d)] % shape[d];
        return static_cast<std::size_t>(flat);
    }
    [[nodiscard]] double& operator[](Index const& index) { return values[at(index)]; }
    [[nodiscard]] double operator[](Index const& index) const { return values[at(index)]; }
};
using Tensors = std::vector<Tensor>;
using Operands = std::vector<Tensor const*>;

template <class Each>
void for_each_index(Shape const& shape, Each&& each) {
    Index index(static_cast<std::size_t>(shape.rank()));
    for (std::int64_t n = 0; n < element_count(shape); ++n) {
        auto rest = n;
        for (auto d = index.size(); d-- > 0; rest /= shape[static_cast<int>(d)])
            index[d] = rest % shape[static_cast<int>(d)];
        each(index);
    }
}

/// Quotients and powers of what is 0 but for rounding are undefined.
double defined(double x) { return std::abs(x) < 1e-6 ? std::nan("") : x; }
double quotient(double a, double b) { return a / defined(b); }
using Scalar = double (*)(double, double);
Scalar scalar_of(Code code) {
    static std::map<Code, Scalar> const all{
        {Code::add, [](double a, double b) { return a + b; }},
        {Code::sub, [](double a, double b) { return a - b; }},
        {Code::mul, [](double a, double b) { return a * b; }},
        {Code::div, quotient},
        {Code::pow, [](double a, double b) { return std::pow(defined(a), b); }},
        {Code::square, [](double a, double) { return a * a; }},
        {Code::exp, [](double a, double) { return std::exp(a); }},
        {Code::sqrt, [](double a, double) { return std::sqrt(a); }},
        {Code::relu, [](double a, double) { return std::max(a, 0.0); }},
    };
    return all.at(code);
}

/// Adds up what a reduction sums, before its axis is summed.
void add_up(Op const& op, Tensor const& in, Tensor& sum) {
    auto const value = [&](double x) { return info(op.code).field.reduction.of_squares ? x * x : x; };
    for (std::size_t i = 0; i < in.values.size(); ++i) sum.values[i] += value(in.values[i]);
}
Tensor finish(Op const& op, Tensor const& sum, Shape const& shape, std::int64_t steps) {
    Tensor out(shape);
    for_each_index(sum.shape, [&](Index const& at) { out[at] += sum[at]; });
    auto const count = static_cast<double>(steps * element_count(sum.shape) / element_count(shape));
    if (info(op.code).field.reduction.root_mean)
        for (auto& value : out.values) value = std::sqrt(value / count);
    return out;
}
Tensor normalise(Op const& op, Tensor const& in) {
    auto row = in.shape;
    auto const n = static_cast<double>(std::exchange(row[*axis_of(op.attributes, in.shape)], 1));
    Tensor mean(row), mean_square(row), out(in.shape);
    if (op.code == Code::layer_norm) for_each_index(in.shape, [&](Index const& at) { mean[at] += in[at] / n; });
    for_each_index(in.shape, [&](Index const& at) { out[at] = in[at] - mean[at]; });
    for_each_index(in.shape, [&](Index const& at) { mean_square[at] += out[at] * out[at] / n; });
    for_each_index(in.shape, [&](Index const& at) { out[at] = quotient(out[at], std::sqrt(mean_square[at])); });
    return out;
}
Tensor contract(Operands const& in, Shape const& shape) {
    Tensor out(shape);
    for_each_index(shape, [&](Index const& at) {
        auto left = at, right = at;
        for (auto& k = left.back() = 0; k < in[0]->shape.back(); ++k) {
            right[at.size() - 2] = k;
            out[at] += (*in[0])[left] * (*in[1])[right];
        }
    });
    return out;
}
Tensor run_op(Op const& op, Operands const& in, Shape const& shape) {
    auto const access = info(op.code).field.access;
    if (access == Access::contraction) return contract(in, shape);
    if (access == Access::normalise) return normalise(op, *in[0]);
    if (access == Access::reduction) {
        Tensor sum(in[0]->shape);
        add_up(op, *in[0], sum);
        return finish(op, sum, shape, 1);
    }
    Tensor out(shape);
    auto const scalar = scalar_of(op.code);
    for_each_index(shape, [&](Index const& at) { out[at] = scalar((*in[0])[at], (*in.back())[at]); });
    return out;
}

/// Index in device memory of an index in a tile: grid axes x, y, z from the outside in, then the loop.
struct Block {
    Schedule const& schedule;
    Index grid;
    std::int64_t step = 0;

    [[nodiscard]] Index outside(Index at, Shape const& tile, Partition const& partition) const {
        for (int d = 0; d < tile.rank(); ++d) {
            std::int64_t part = 0;
            for (std::size_t a = 0; a < 3; ++a)
                if (partition.grid[a] == d) part = part * schedule.grid[a] + grid[a];
            if (partition.loop == d) part = part * schedule.loop + step;
            at[static_cast<std::size_t>(d)] += part * tile[d];
        }
        return at;
    }
};

/// Ops of a kernel or block graph; those with one output only.
class Interpreter {
public:
    explicit Interpreter(Graph const& graph) : graph_(graph), infos_(infer(graph)), tensors_(infos_.size()) {}

    Tensor run(Tensors const& inputs) {
        std::ranges::copy(inputs, tensors_.begin());
        run_ops(false);
        return output();
    }

private:
    [[nodiscard]] Tensor output() const { return tensors_[static_cast<std::size_t>(graph_.outputs[0])]; }
    [[nodiscard]] Operands operands(Op const& op) const {
        Operands out;
        for (auto const id : op.inputs) out.push_back(&tensors_[static_cast<std::size_t>(id)]);
        return out;
    }
    void run_ops(bool after_loop) {
        for (std::size_t i = graph_.inputs.size(); i < infos_.size(); ++i) {
            auto const& op = graph_.ops[i - graph_.inputs.size()];
            auto const& shape = infos_[i].shape;
            if (infos_[i].is_after_loop != after_loop) continue;
            if (op.code == Code::graph)
                tensors_[i] = run_kernel(graph_.bodies[static_cast<std::size_t>(op.body)], operands(op), shape);
            else if (is_accumulator(info(op.code)))
                tensors_[i] = finish(op, sums_.at(i), shape, graph_.schedule.loop);
            else
                tensors_[i] = run_op(op, operands(op), shape);
        }
    }
    static Tensor run_kernel(Graph const& body, Operands const& in, Shape const& shape) {
        Tensor out(shape);
        auto const& [x, y, z] = body.schedule.grid;
        for_each_index({x, y, z}, [&](Index const& grid) {
            Block const block{body.schedule, grid};
            auto const tile = Interpreter(body).run_block(block, in);
            Partition const map{body.schedule.output};
            for_each_index(tile.shape, [&](Index const& at) { out[block.outside(at, tile.shape, map)] = tile[at]; });
        });
        return out;
    }
    Tensor run_block(Block block, Operands const& in) {
        for (block.step = 0; block.step < graph_.schedule.loop; ++block.step) {
            for (std::size_t i = 0; i < in.size(); ++i) load(i, block, *in[i]);
            run_ops(false);
            for (std::size_t i = in.size(); i < infos_.size(); ++i) {
                auto const& op = graph_.ops[i - in.size()];
                if (!is_accumulator(info(op.code))) continue;
                auto const& value = *operands(op)[0];
                add_up(op, value, sums_.try_emplace(i, value.shape).first->second);
            }
        }
        run_ops(true);
        return output();
    }
    void load(std::size_t i, Block const& block, Tensor const& whole) {
        auto& tile = tensors_[i] = Tensor(graph_.inputs[i].shape);
        auto const& map = graph_.schedule.inputs[i];
        for_each_index(tile.shape, [&](Index const& at) { tile[at] = whole[block.outside(at, tile.shape, map)]; });
    }

    Graph const& graph_;
    std::vector<TensorInfo> infos_;
    Tensors tensors_;
    std::map<std::size_t, Tensor> sums_; ///< by the tensor of the accumulator
};

template <class T>
T pick(Rng& rng, std::vector<T> const& from) {
    return from[rng.below(from.size())];
}
bool happens(Rng& rng, double probability) { return rng.uniform() < probability; }

using enum OpCode;
std::vector<Code> const unary{Code::exp, square, Code::sqrt, relu};
std::vector<Code> const binary{add, sub, mul, div, matmul, matmul, Code::pow};
std::vector<Code> const along_axis{sum, sum_to, rms, rms_norm, layer_norm};
std::vector<Code> const loop_ends{Code::accumulate, accumulate_sum, accumulate_rms, accumulate_sum_to};

Attributes random_axis(Rng& rng) {
    return Attributes::axis(happens(rng, 0.5) ? -1 : -2).with(AttributeName::size, pick<std::int64_t>(rng, {1, 2, 3}));
}
Op random_op(Rng& rng, int tensors) {
    auto const operand = [&] { return static_cast<int>(rng.below(static_cast<std::uint64_t>(tensors))); };
    auto const kind = rng.below(5);
    if (kind == 0) return {pick(rng, unary), {}, {operand()}};
    if (kind == 1) return {pick(rng, along_axis), random_axis(rng), {operand()}};
    return {pick(rng, binary), {}, {operand(), operand()}};
}

std::vector<int> count_up(std::size_t count) {
    std::vector<int> out(count);
    std::iota(out.begin(), out.end(), 0);
    return out;
}
int tensor_count(Graph const& graph) { return static_cast<int>(graph.inputs.size() + graph.ops.size()); }

Graph random_program(Rng& rng) {
    std::vector<std::int64_t> const sizes{2, 3, 4, 6};
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
    for (std::size_t i = 0; i < operands.size(); ++i)
        block.inputs.push_back({"", tile_shape(operands[i], block.schedule.inputs[i], block.schedule)});
    auto now = count_up(operands.size()); // where each tensor of `graph` is
    std::vector<bool> is_after(operands.size(), false);
    auto const end_loop = [&](int& tensor) {
        if (is_after[static_cast<std::size_t>(tensor)]) return;
        block.ops.push_back({happens(rng, 0.7) ? Code::accumulate : pick(rng, loop_ends), random_axis(rng), {tensor}});
        is_after.push_back(true);
        tensor = tensor_count(block) - 1;
    };
    for (auto op : graph.ops) {
        bool any_after = happens(rng, 0.2);
        for (auto& id : op.inputs) {
            id = now[static_cast<std::size_t>(id)];
            any_after = any_after || is_after[static_cast<std::size_t>(id)];
        }
        if (any_after) std::ranges::for_each(op.inputs, end_loop);
        block.ops.push_back(op);
        is_after.push_back(any_after);
        now.push_back(tensor_count(block) - 1);
    }
    end_loop(now.back());
    block.outputs = {now.back()};
    return block;
}

/// Ops one by one into a new graph, which may number tensors otherwise.
template <class Emit>
Graph rebuild(Graph const& graph, Emit&& emit) {
    Graph out{.inputs = graph.inputs};
    auto now = count_up(graph.inputs.size());
    for (auto op : graph.ops) {
        for (auto& id : op.inputs) id = now[static_cast<std::size_t>(id)];
        emit(out, op);
        now.push_back(tensor_count(out) - 1);
    }
    out.outputs = {now.back()};
    return out;
}
int emit(Graph& out, Op op) {
    out.ops.push_back(std::move(op));
    return tensor_count(out) - 1;
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
void emit_as_kernel(Rng& rng, Graph& out, Graph const& ops, std::vector<int> const& operands) {
    auto const infos = infer(out);
    std::vector<Shape> shapes;
    for (auto const id : operands) shapes.push_back(infos[static_cast<std::size_t>(id)].shape);
    emit(out, {graph, {}, operands, static_cast<int>(out.bodies.size())});
    out.bodies.push_back(as_block(rng, ops, shapes));
}
Graph with_kernels(Rng& rng, Graph const& from) {
    return rebuild(from, [&](Graph& out, Op const& op) {
        Graph one{.ops = {op}};
        one.ops[0].inputs = count_up(op.inputs.size());
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

/// Where both are defined: not for a root of something negative, or an exponential out of range.
bool are_equal(double x, double y) {
    return !std::isfinite(x) || !std::isfinite(y) || std::abs(x - y) <= 1e-6 * (1 + std::abs(x) + std::abs(y));
}
bool have_equal_values(Rng& rng, Graph const& a, Graph const& b) {
    for (auto const low : {0.5, -1.5}) { // positive, then of both signs
        Tensors inputs;
        for (auto const& input : a.inputs)
            for (auto& value : inputs.emplace_back(input.shape).values) value = low + (1.5 - low) * rng.uniform();
        if (!std::ranges::equal(Interpreter(a).run(inputs).values, Interpreter(b).run(inputs).values, are_equal))
            return false;
    }
    return true;
}

TEST(ProofSoundness, what_is_proved_has_equal_values) {
    Rng rng(base::Seed{20});
    int proved = 0, different = 0;
    for (int round = 0; round < 5000; ++round) {
        auto const reference = random_program(rng);
        auto const candidate = variant(rng, reference);
        if (candidate == reference) continue;

        auto const is_proved = Prover(reference).prove(candidate).is_proved;
        auto const is_equal = have_equal_values(rng, reference, candidate);

        ASSERT_TRUE(is_equal || !is_proved) << "round " << round;
        proved += is_proved;
        different += !is_equal;
    }
    EXPECT_GT(proved, 500);
    EXPECT_GT(different, 500);
}

} // namespace
} // namespace espalier::verify
