#include "matching.hpp"

#include "espalier/base/contract.hpp"
#include "espalier/base/hash.hpp"

#include <algorithm>
#include <numeric>

namespace espalier::problems::substitution {
namespace {

using Tensors = std::array<TensorId, 2 * max_ops>;

TensorId tensor_of(Ref ref, Tensors const& made, TensorTable const& table) {
    if (ref == no_ref) return no_tensor;
    return is_result(ref) ? made[static_cast<std::size_t>(ref - first_result)] : table.input(ref);
}

void name_class(std::size_t which, std::array<std::uint8_t, class_count> const& used, Names& names,
                std::function<void(Names const&)> const& visit) {
    if (which == class_count) return visit(names);
    auto* const first = names.data() + input_slots().first_of(static_cast<int>(which));
    std::sort(first, first + used[which]);
    do name_class(which + 1, used, names, visit);
    while (std::next_permutation(first, first + used[which]));
}

bool reads_inputs_only(GraphOp const& op) { return !is_result(op.a) && !is_result(op.b); }

/// Whether the operators differ in one operand at most; operands are the same if they are the same input.
bool differ_in_one(GraphOp const& x, GraphOp const& y) {
    if (info(x.code).operands < 2) return true;
    auto const are_same = [](Ref a, Ref b) { return a == b && !is_result(a); };
    if (are_same(x.a, y.a) || are_same(x.b, y.b)) return true;
    return info(x.code).is_commutative && (are_same(x.a, y.b) || are_same(x.b, y.a));
}

} // namespace

std::optional<Tensors> evaluate(OperatorGraph const& graph, TensorTable& table) {
    Tensors out;
    out.fill(no_tensor);
    for (std::size_t op = 0; op < graph.count; ++op) {
        auto const& [code, a, b] = graph.ops[op];
        auto const made = table.made(code, tensor_of(a, out, table), tensor_of(b, out, table));
        if (!made.is_there()) return std::nullopt;
        out[2 * op] = made.first;
        out[2 * op + 1] = made.second;
    }
    return out;
}

std::optional<std::vector<std::uint64_t>> prints_of_outputs(OperatorGraph const& graph, TensorTable& table) {
    auto const tensors = evaluate(graph, table);
    if (!tensors) return std::nullopt;
    std::vector<std::uint64_t> out;
    for (auto const ref : graph.outputs())
        out.push_back(table.print((*tensors)[static_cast<std::size_t>(ref - first_result)]));
    return out;
}

std::optional<std::vector<std::uint64_t>> signature(OperatorGraph const& graph, TensorTable& table) {
    auto out = prints_of_outputs(graph, table);
    if (out) std::ranges::sort(*out);
    return out;
}

void for_all_names(std::array<std::uint8_t, class_count> const& used, std::function<void(Names const&)> const& visit) {
    Names names;
    std::iota(names.begin(), names.end(), Ref{0});
    name_class(0, used, names, visit);
}

OperatorGraph renamed(OperatorGraph const& graph, Names const& names) {
    auto const name = [&](Ref ref) { return ref < first_result ? names[ref] : ref; };
    auto out = graph;
    for (std::size_t i = 0; i < out.count; ++i)
        out.ops[i] = sorted({out.ops[i].code, name(out.ops[i].a), name(out.ops[i].b)});
    return out;
}

Keyed keyed(OperatorGraph const& graph, TensorTable& table) {
    std::optional<std::pair<std::vector<std::uint64_t>, OperatorGraph>> best;
    for_all_names(graph.inputs_used(), [&](Names const& names) {
        auto const other = renamed(graph, names);
        std::pair candidate{signature(other, table).value(), other};
        if (!best || candidate.first < best->first) best = std::move(candidate);
    });
    ESP_ASSERT(best.has_value());
    std::uint64_t key = 0;
    for (auto const print : best->first) key = base::hash_combine(key, print);
    return {key, best->second};
}

bool have_common_part(OperatorGraph const& a, OperatorGraph const& b) {
    return std::ranges::any_of(a.used(), [&](GraphOp const& op) {
        return reads_inputs_only(op) && std::ranges::find(b.used(), op) != b.used().end();
    });
}

bool have_common_end(OperatorGraph const& a, OperatorGraph const& b, TensorTable& table) {
    auto const of_a = evaluate(a, table).value(), of_b = evaluate(b, table).value();
    for (int i = 0; i < a.count; ++i)
        for (int j = 0; j < b.count; ++j) {
            auto const &x = a.ops[static_cast<std::size_t>(i)], &y = b.ops[static_cast<std::size_t>(j)];
            if (x.code != y.code || a.is_read(i) || b.is_read(j)) continue;
            auto const is_same_output = of_a[static_cast<std::size_t>(2 * i)] == of_b[static_cast<std::size_t>(2 * j)];
            if (is_same_output && differ_in_one(x, y)) return true;
        }
    return false;
}

Pair canonical_pair(OperatorGraph const& a, OperatorGraph const& b) {
    auto used = a.inputs_used();
    auto const more = b.inputs_used();
    for (std::size_t i = 0; i < used.size(); ++i) used[i] = std::max(used[i], more[i]);
    std::optional<std::pair<OperatorGraph, OperatorGraph>> best;
    for_all_names(used, [&](Names const& names) {
        std::pair sides{renamed(a, names), renamed(b, names)};
        if (sides.second < sides.first) std::swap(sides.first, sides.second);
        if (!best || sides < *best) best = sides;
    });
    return {best->first, best->second};
}

} // namespace espalier::problems::substitution
