#include "espalier/problems/rewrite/graph.hpp"

#include "espalier/base/contract.hpp"
#include "espalier/base/error.hpp"
#include "espalier/base/hash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace espalier::problems::rewrite {
namespace {

using base::hash_combine;
using base::hash_text;

/// Elements of a constant that is told apart by its elements even where large ones are not: bounds, factors, shapes.
constexpr std::int64_t small_constant = 8;

template <class T>
std::uint64_t hash_list(std::vector<T> const& list) {
    return base::hash_bytes(std::as_bytes(std::span(list)));
}
std::uint64_t hash_type(model::Known const& type) {
    return hash_combine(static_cast<std::uint64_t>(type.element), hash_list(type.dims));
}

/// To nine digits: what is computed in two orders is the same.
std::uint64_t hash_reals(std::vector<double> const& reals) {
    std::vector<float> rounded(reals.size());
    std::ranges::transform(reals, rounded.begin(), [](double x) {
        if (x == 0 || !std::isfinite(x)) return static_cast<float>(x + 0.0);
        int exponent = 0;
        auto const digits = std::frexp(x, &exponent);
        return static_cast<float>(std::ldexp(std::round(std::ldexp(digits, 20)), exponent - 20));
    });
    return hash_list(rounded);
}

std::uint64_t hash_of(model::Array const& array) {
    auto out = hash_type({array.element, array.dims});
    if (!array.reals.empty()) out = hash_combine(out, hash_reals(array.reals));
    if (!array.wholes.empty()) out = hash_combine(out, hash_list(array.wholes));
    for (auto const& text : array.texts) out = hash_combine(out, hash_text(text));
    return out;
}

struct AttributeHash {
    std::uint64_t operator()(std::int64_t x) const { return static_cast<std::uint64_t>(x); }
    std::uint64_t operator()(float x) const { return hash_list(std::vector{x}); }
    std::uint64_t operator()(std::string const& x) const { return hash_text(x); }
    std::uint64_t operator()(model::TensorPtr const& x) const { return base::hash_bytes(x->bytes); }
    std::uint64_t operator()(std::vector<std::int64_t> const& x) const { return hash_list(x); }
    std::uint64_t operator()(std::vector<float> const& x) const { return hash_list(x); }
    std::uint64_t operator()(std::vector<std::string> const& x) const {
        return hash_text(fmt::format("{}", fmt::join(x, "\n")));
    }
    std::uint64_t operator()(model::Raw const& x) const { return hash_text(x.bytes); }
};

bool is_commutative(std::string const& op) { return op == "Add" || op == "Mul" || op == "Min" || op == "Max"; }

/// Every value by how it is made.
template <class OfConstant>
std::uint64_t hash_graph(Graph const& graph, OfConstant const& of_constant) {
    std::vector<std::uint64_t> of(graph.values.size(), 0);
    for (std::size_t i = 0; i < graph.values.size(); ++i)
        if (graph.values[i].constant) of[i] = of_constant(graph.values[i]);
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
        auto const id = static_cast<std::size_t>(graph.inputs[i]);
        of[id] = hash_combine(hash_type(graph.values[id].type), i);
    }
    for (auto const& op : graph.ops) {
        std::vector<std::uint64_t> in;
        for (auto const id : op.in) in.push_back(id == no_value ? 1 : of[static_cast<std::size_t>(id)]);
        if (is_commutative(op.kernel->op)) std::ranges::sort(in);
        auto const made = hash_combine(op.kernel->hash, hash_list(in));
        for (std::size_t i = 0; i < op.out.size(); ++i) of[static_cast<std::size_t>(op.out[i])] = hash_combine(made, i);
    }
    auto out = static_cast<std::uint64_t>(graph.opset);
    for (auto const id : graph.outputs) out = hash_combine(out, of[static_cast<std::size_t>(id)]);
    return out;
}

std::string name_in(Graph const& graph, ValueId id) {
    if (id == no_value) return {};
    auto const place = std::ranges::find(graph.inputs, id);
    if (place != graph.inputs.end()) return fmt::format("x{}", place - graph.inputs.begin());
    return fmt::format("{}{}", graph.constant(id) != nullptr ? "c" : "v", id);
}

/// Ops that the outputs need, operands first; nothing if there is a cycle.
std::optional<std::vector<std::size_t>> needed_order(Graph const& graph, Uses const& uses) {
    enum class Mark : std::uint8_t { none, open, done };
    std::vector<Mark> marks(graph.ops.size(), Mark::none);
    std::vector<std::size_t> order;
    auto const visit = [&](auto const& self, std::size_t op) -> bool {
        if (marks[op] != Mark::none) return marks[op] == Mark::done;
        marks[op] = Mark::open;
        for (auto const id : graph.ops[op].in)
            if (auto const maker = id == no_value ? -1 : uses.maker[static_cast<std::size_t>(id)];
                maker >= 0 && !self(self, static_cast<std::size_t>(maker)))
                return false;
        marks[op] = Mark::done;
        order.push_back(op);
        return true;
    };
    for (auto const id : graph.outputs)
        if (auto const maker = uses.maker[static_cast<std::size_t>(id)];
            maker >= 0 && !visit(visit, static_cast<std::size_t>(maker)))
            return std::nullopt;
    return order;
}

constexpr std::size_t most_folded_elements = 64'000'000; ///< kept by a thread

} // namespace

ConstantPtr make_constant(model::Array array, model::TensorPtr tensor) {
    auto const hash = hash_of(array);
    return std::shared_ptr<Constant const>(new Constant{std::move(array), std::move(tensor), hash});
}

KernelPtr make_kernel(std::string op, std::map<std::string, model::Attribute> attributes) {
    auto hash = hash_text(op);
    for (auto const& [name, value] : attributes)
        hash = hash_combine(hash_combine(hash, hash_text(name)), std::visit(AttributeHash{}, value));
    return std::make_shared<Kernel const>(Kernel{std::move(op), std::move(attributes), hash});
}

Uses::Uses(Graph const& graph) : maker(graph.values.size(), -1), readers(graph.values.size()) {
    for (std::size_t i = 0; i < graph.ops.size(); ++i) {
        for (auto const id : graph.ops[i].out) maker[static_cast<std::size_t>(id)] = static_cast<std::int32_t>(i);
        for (auto const id : graph.ops[i].in)
            if (id != no_value) readers[static_cast<std::size_t>(id)].push_back(static_cast<std::int32_t>(i));
    }
}

std::uint64_t key_of(Graph const& graph) {
    return hash_graph(graph, [](GraphValue const& value) { return value.constant->hash; });
}

std::uint64_t structure_of(Graph const& graph) {
    return hash_graph(graph, [](GraphValue const& value) {
        auto const is_small = model::element_count(value.type.dims) <= small_constant;
        return is_small ? value.constant->hash : hash_combine(hash_type(value.type), 7);
    });
}

std::optional<Graph> tidied(Graph graph) {
    auto const order = needed_order(graph, Uses(graph));
    if (!order) return std::nullopt;
    Graph out{.opset = graph.opset, .values = {}, .inputs = {}, .outputs = {}, .ops = {}};
    std::vector<ValueId> place(graph.values.size(), no_value);
    auto const put = [&](ValueId id) {
        if (id == no_value) return no_value;
        auto& at = place[static_cast<std::size_t>(id)];
        if (at == no_value) {
            at = static_cast<ValueId>(out.values.size());
            out.values.push_back(graph.value(id));
        }
        return at;
    };
    for (auto const id : graph.inputs) out.inputs.push_back(put(id));
    for (auto const op : *order) {
        auto made = graph.ops[op];
        for (auto& id : made.in) id = put(id);
        for (auto& id : made.out) id = put(id);
        out.ops.push_back(std::move(made));
    }
    for (auto const id : graph.outputs) out.outputs.push_back(put(id));
    return out;
}

model::Model to_model(Graph const& graph) {
    model::Model out{.name = "part"};
    out.opsets[""] = graph.opset;
    auto const value_of = [&](ValueId id, std::string name) {
        auto const& type = graph.value(id).type;
        model::Type told{type.element, std::vector<model::Dimension>{}};
        for (auto const size : type.dims) told.shape->push_back({size, {}});
        return model::Value{std::move(name), std::move(told)};
    };
    for (std::size_t i = 0; i < graph.inputs.size(); ++i)
        out.inputs.push_back(value_of(graph.inputs[i], fmt::format("x{}", i)));
    for (std::size_t i = 0; i < graph.values.size(); ++i) {
        auto const& constant = graph.values[i].constant;
        if (!constant) continue;
        auto tensor = constant->tensor;
        if (!tensor) tensor = std::make_shared<model::Tensor const>(model::to_tensor(constant->array));
        out.constants[name_in(graph, static_cast<ValueId>(i))] = std::move(tensor);
    }
    for (auto const& op : graph.ops) {
        model::Node node{.op = op.kernel->op};
        for (auto const id : op.in) node.inputs.push_back(name_in(graph, id));
        for (auto const id : op.out) node.outputs.push_back(name_in(graph, id));
        node.attributes = op.kernel->attributes;
        out.nodes.push_back(std::move(node));
    }
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
        auto const id = graph.outputs[i];
        auto name = fmt::format("y{}", i);
        out.nodes.push_back({.op = "Identity", .inputs = {name_in(graph, id)}, .outputs = {name}});
        out.outputs.push_back(value_of(id, std::move(name)));
    }
    return out;
}

ValueId Builder::add(GraphValue value) {
    graph_.values.push_back(std::move(value));
    return static_cast<ValueId>(graph_.values.size() - 1);
}

ValueId Builder::constant(ConstantPtr constant) {
    model::Known type{constant->array.element, constant->array.dims};
    return add({std::move(type), std::move(constant)});
}

ValueId Builder::number(double value, ValueId like) {
    model::Array array{.element = graph_.value(like).type.element, .dims = {}, .reals = {value}};
    return constant(make_constant(std::move(array)));
}

ValueId Builder::wholes(std::vector<std::int64_t> values) {
    auto const size = static_cast<std::int64_t>(values.size());
    return constant(make_constant({.element = model::Element::i64, .dims = {size}, .wholes = std::move(values)}));
}

std::optional<std::vector<ValueId>> Builder::apply(KernelPtr const& kernel, std::vector<ValueId> in,
                                                   std::size_t outputs) {
    std::vector<GraphValue> operands;
    for (auto const id : in) operands.push_back(id == no_value ? GraphValue{} : graph_.value(id));
    auto made = folder_.apply(*kernel, graph_.opset, operands, outputs);
    if (!made) return std::nullopt;
    std::vector<ValueId> out;
    bool is_known = true;
    for (auto& value : *made) {
        is_known = is_known && value.constant;
        out.push_back(add(std::move(value)));
    }
    if (!is_known) graph_.ops.push_back({kernel, std::move(in), out, std::nullopt});
    return out;
}

std::optional<ValueId> Builder::one(KernelPtr const& kernel, std::vector<ValueId> in) {
    auto const made = apply(kernel, std::move(in));
    return made ? std::optional(made->front()) : std::nullopt;
}

std::optional<std::vector<GraphValue>> Folder::apply(Kernel const& kernel, std::int64_t opset,
                                                     std::span<GraphValue const> in, std::size_t outputs) {
    auto key = hash_combine(kernel.hash, outputs);
    for (auto const& value : in) key = hash_combine(key, value.constant ? value.constant->hash : hash_type(value.type));
    if (auto const found = known_.find(key); found != known_.end()) return found->second;
    auto made_now = made(kernel, opset, in, outputs);
    for (auto const& value : made_now.value_or(std::vector<GraphValue>{}))
        if (value.constant) elements_ += value.constant->array.reals.size();
    if (elements_ > most_folded_elements) {
        known_.clear();
        elements_ = 0;
    }
    known_.emplace(key, made_now);
    return made_now;
}

std::optional<std::vector<GraphValue>> Folder::made(Kernel const& kernel, std::int64_t opset,
                                                    std::span<GraphValue const> in, std::size_t outputs) {
    Graph graph{.opset = opset, .values = {}, .inputs = {}, .outputs = {}, .ops = {}};
    std::vector<ValueId> operands, results;
    bool is_known = true;
    for (auto const& value : in) {
        if (value.type.element == model::Element::none) {
            operands.push_back(no_value);
            continue;
        }
        auto const id = static_cast<ValueId>(graph.values.size());
        graph.values.push_back(value);
        operands.push_back(id);
        if (value.constant) continue;
        graph.inputs.push_back(id);
        is_known = false;
    }
    for (std::size_t i = 0; i < outputs; ++i) {
        results.push_back(static_cast<ValueId>(graph.values.size()));
        graph.values.emplace_back();
    }
    graph.ops.push_back({std::make_shared<Kernel const>(kernel), operands, results, std::nullopt});
    auto model = to_model(graph);
    for (auto const id : results) model.outputs.push_back({name_in(graph, id), {}});
    auto const facts = model::infer(model);
    if (model::not_understood(model.nodes.front(), model, facts)) return std::nullopt;
    model::Arrays arrays;
    if (is_known) arrays = model::evaluate(model, {});
    std::vector<GraphValue> out;
    for (auto const id : results) {
        auto const name = name_in(graph, id);
        auto const type = facts.types.find(name);
        if (type == facts.types.end()) return std::nullopt;
        out.push_back({type->second, is_known ? make_constant(std::move(arrays.at(name))) : nullptr});
    }
    return out;
}

} // namespace espalier::problems::rewrite
