#pragma once

#include "espalier/base/rng.hpp"
#include "espalier/problems/substitution/operator_graph.hpp"
#include "espalier/problems/substitution/tensor_table.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

/// Graphs on real numbers, with the real relu and maximum: by indices, without anything of the tables of values.
namespace espalier::problems::substitution::real {

struct Array {
    Layout layout;
    int input_class = -1;
    std::vector<double> values;

    [[nodiscard]] double at(int a, int b, int c = 0, int d = 0) const {
        std::array const index{a, b, c, d};
        std::size_t place = 0;
        for (int i = 0; i < layout.rank; ++i) {
            if (index[static_cast<std::size_t>(i)] < 0 || index[static_cast<std::size_t>(i)] >= layout.dim(i)) return 0;
            place = place * static_cast<std::size_t>(layout.dim(i)) +
                    static_cast<std::size_t>(index[static_cast<std::size_t>(i)]);
        }
        return values[place];
    }
};

class Evaluator {
public:
    Evaluator(Sizes const& sizes, std::uint64_t seed) : sizes_(sizes) {
        base::Rng rng{base::Seed{seed}};
        for (int slot = 0; slot < input_slots().count(); ++slot) {
            auto const which = input_slots().class_of(slot);
            auto const& row = input_classes()[static_cast<std::size_t>(which)];
            Array input{.layout = contiguous(row.rank, row.dims(sizes)), .input_class = which, .values = {}};
            for (int i = 0; i < input.layout.size(); ++i) input.values.push_back(rng.uniform() * 2 - 1);
            inputs_.push_back(input);
        }
    }
    /// The tensors that nothing reads; nothing if an operator does not take its operands.
    [[nodiscard]] std::optional<std::vector<Array>> outputs(OperatorGraph const& graph) const {
        std::vector<Array> made;
        auto const of = [&](Ref ref) {
            return is_result(ref) ? made[static_cast<std::size_t>(ref - first_result)] : inputs_[ref];
        };
        for (auto const& op : graph.used()) {
            auto const a = op.a == no_ref ? Array{} : of(op.a), b = op.b == no_ref ? Array{} : of(op.b);
            Tensor const x{a.layout, {}, a.input_class}, y{b.layout, {}, b.input_class};
            auto const layouts = info(op.code).layout(op.code, {&x, op.a == op.b ? &x : &y, sizes_});
            if (!layouts) return std::nullopt;
            for (std::size_t i = 0; i < 2; ++i) made.push_back(computed(op.code, i, layouts->of[i], a, b));
        }
        std::vector<Array> out;
        for (auto const ref : graph.outputs()) out.push_back(of(ref));
        return out;
    }

private:
    [[nodiscard]] static double relu(double x) { return std::max(x, 0.0); }
    [[nodiscard]] static double convolved(Array const& x, Array const& w, std::array<int, 4> const& to) {
        auto const depth = w.layout.dim(1), groups = x.layout.dim(1) / depth,
                   group = to[1] / (w.layout.dim(0) / groups);
        double sum = 0;
        for (int c = 0; c < depth; ++c)
            for (int i = 0; i < w.layout.dim(2); ++i)
                for (int j = 0; j < w.layout.dim(3); ++j)
                    sum += w.at(to[1], c, i, j) * x.at(to[0], group * depth + c, to[2] + i - w.layout.dim(2) / 2,
                                                       to[3] + j - w.layout.dim(3) / 2);
        return sum;
    }
    [[nodiscard]] static double element(Operator code, std::size_t output, std::array<int, 4> to, Array const& a,
                                        Array const& b) {
        using enum Operator;
        auto const& [i, j, y, x] = to;
        double out = 0;
        switch (code) {
        case matmul:
            for (int k = 0; k < a.layout.dim(1); ++k) out += a.at(i, k) * b.at(k, j);
            return out;
        case add:
            return a.at(i, j, y, x) + b.at(i, j, y, x);
        case mul:
            return a.at(i, j, y, x) * b.at(i, j, y, x);
        case scale:
            return a.at(i, j, y, x) * b.values.front();
        case relu:
            return Evaluator::relu(a.at(i, j, y, x));
        case conv3x3:
        case conv1x1:
        case conv1x3:
            return convolved(a, b, to);
        case conv3x3_relu:
        case conv1x1_relu:
        case conv1x3_relu:
            return Evaluator::relu(convolved(a, b, to));
        case average_pool:
        case max_pool:
            for (int p = -1; p <= 1; ++p)
                for (int q = -1; q <= 1; ++q)
                    out = code == max_pool ? std::max(out, a.at(i, j, y + p, x + q)) : out + a.at(i, j, y + p, x + q);
            return out;
        case enlarge:
            return a.at(i, j, y - (3 - a.layout.dim(2)) / 2, x - (3 - a.layout.dim(3)) / 2);
        case concat2_0:
        case concat4_0:
            return i < a.layout.dim(0) ? a.at(i, j, y, x) : b.at(i - a.layout.dim(0), j, y, x);
        case concat2_1:
        case concat4_1:
            return j < a.layout.dim(1) ? a.at(i, j, y, x) : b.at(i, j - a.layout.dim(1), y, x);
        case split_0:
            return a.at(i + (output == 1 ? a.layout.marks[0].last() : 0), j, y, x);
        case split_1:
            return a.at(i, j + (output == 1 ? a.layout.marks[1].last() : 0), y, x);
        case transpose:
        case transpose_copy:
            return a.at(j, i);
        case identity_kernel:
            return i == j && y == 1 && x == 1 ? 1 : 0;
        case identity_matrix:
            return i == j ? 1 : 0;
        case pool_kernel:
        case ones:
            return 1;
        }
        return out;
    }
    [[nodiscard]] static Array computed(Operator code, std::size_t output, Layout const& layout, Array const& a,
                                        Array const& b) {
        Array out{.layout = layout, .values = {}};
        std::array<int, 4> sizes{1, 1, 1, 1};
        for (int i = 0; i < layout.rank; ++i) sizes[static_cast<std::size_t>(i)] = layout.dim(i);
        for (int i = 0; i < sizes[0]; ++i)
            for (int j = 0; j < sizes[1]; ++j)
                for (int y = 0; y < sizes[2]; ++y)
                    for (int x = 0; x < sizes[3]; ++x) out.values.push_back(element(code, output, {i, j, y, x}, a, b));
        return out;
    }

    Sizes sizes_;
    std::vector<Array> inputs_;
};

/// Whether each output of one graph is an output of the other one, and there are as many.
inline bool agree(OperatorGraph const& a, OperatorGraph const& b, Sizes const& sizes, std::uint64_t seed) {
    Evaluator const evaluator(sizes, seed);
    auto left = evaluator.outputs(a), right = evaluator.outputs(b);
    if (!left || !right || left->size() != right->size()) return false;
    auto const is_same = [](Array const& x, Array const& y) {
        if (x.layout.rank != y.layout.rank || x.layout.dims != y.layout.dims) return false;
        for (std::size_t i = 0; i < x.values.size(); ++i)
            if (std::abs(x.values[i] - y.values[i]) > 1e-9 * (1 + std::abs(x.values[i]))) return false;
        return true;
    };
    for (auto const& one : *left) {
        auto const found = std::ranges::find_if(*right, [&](Array const& other) { return is_same(one, other); });
        if (found == right->end()) return false;
        right->erase(found);
    }
    return true;
}

} // namespace espalier::problems::substitution::real
