#include "affine_graph.hpp"

#include "espalier/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace espalier::problems::substitution::affine {
namespace {

/// All orders of a graph's operators in which operands come first, as graphs, until one says stop.
class Orders {
public:
    explicit Orders(Graph const& graph) : graph_(graph) { place_.fill(no_data); }

    /// `keep(op, at)`: whether an operator may stand there; `visit`: true ends it all.
    template <class Keep, class Visit>
    bool search(Keep const& keep, Visit const& visit) {
        if (made_.count == graph_.count) return visit(made_);
        for (std::size_t i = 0; i < graph_.count; ++i) {
            auto const& op = graph_.ops[i];
            if (place_[i] != no_data || !is_placed(op.x) || !is_placed(op.y)) continue;
            auto const next = placed(op);
            if (!keep(next, made_)) continue;
            place_[i] = static_cast<DataRef>(first_made + made_.count);
            made_.push(next);
            auto const is_done = search(keep, visit);
            made_.ops[--made_.count] = {};
            place_[i] = no_data;
            if (is_done) return true;
        }
        return false;
    }

private:
    [[nodiscard]] bool is_placed(DataRef ref) const {
        return ref < first_made || ref == no_data || place_[ref - first_made] != no_data;
    }
    [[nodiscard]] DataRef now(DataRef ref) const {
        return ref < first_made || ref == no_data ? ref : place_[ref - first_made];
    }
    [[nodiscard]] GraphOp placed(GraphOp op) const {
        op.x = now(op.x);
        op.y = now(op.y);
        if (op.y != no_data && op.y < op.x) std::swap(op.x, op.y);
        return op;
    }

    Graph const& graph_;
    Graph made_;
    std::array<DataRef, most_data_ops> place_{};
};

Graph smallest_order(Graph const& graph) {
    std::optional<Graph> best;
    Orders orders(graph);
    orders.search([](auto const&...) { return true; },
                  [&](Graph const& one) {
                      if (!best || one < *best) best = one;
                      return false;
                  });
    return *best;
}

/// Whether an order is smaller than `than`.
bool has_smaller(Graph const& graph, Graph const& than) {
    Orders orders(graph);
    return orders.search(
        [&](GraphOp const& op, Graph const& made) {
            return std::ranges::lexicographical_compare(made.used(), than.used().first(made.count)) ||
                   op <= than.ops[made.count];
        },
        [&](Graph const& one) { return one < than; });
}

/// Names of terms and operators of one side, as they are asked for.
class Plain {
public:
    explicit Plain(Space const& space) : space_(space) {}

    [[nodiscard]] library::Graph graph(Graph const& graph) {
        for (int i = 0; i < graph.count; ++i) {
            auto const& op = graph.ops[static_cast<std::size_t>(i)];
            library::Operator one{std::string(row(op.code).name), {data(op.x)}, {}};
            if (op.y != no_data) one.inputs.push_back(data(op.y));
            for (auto const term : {op.p, op.q})
                if (term != no_term) one.inputs.push_back(name_of(term));
            one.outputs.push_back(data(static_cast<DataRef>(first_made + i)));
            out_.operators.push_back(std::move(one));
        }
        out_.outputs = out_.operators.back().outputs;
        return std::move(out_);
    }

private:
    [[nodiscard]] std::string data(DataRef ref) const {
        return ref < first_made ? space_.data_name(ref) : fmt::format("t{}", ref - first_made + 1);
    }
    [[nodiscard]] std::string name_of(TermId id) {
        auto const& term = space_.term(id);
        if (term.op <= TermOp::number) return term.name;
        if (auto const known = names_.find(id); known != names_.end()) return known->second;
        library::Operator one{std::string(name(term.op)), {name_of(term.a)}, {}};
        if (term.b != no_term) one.inputs.push_back(name_of(term.b));
        auto const made = fmt::format("k{}", names_.size() + 1);
        one.outputs = {made};
        out_.operators.push_back(std::move(one));
        return names_[id] = made;
    }

    Space const& space_;
    library::Graph out_;
    std::map<TermId, std::string> names_;
};

library::InputClass class_of(Type type) {
    switch (type) {
    case Type::scalar:
        return library::InputClass::scalar;
    case Type::channel:
    case Type::out_channel:
        return library::InputClass::channel;
    case Type::weights:
        return library::InputClass::weights;
    case Type::data:
    case Type::result:
        break;
    }
    return library::InputClass::data;
}

} // namespace

int Graph::outputs() const {
    int out = 0;
    for (std::size_t i = 0; i < count; ++i)
        out += std::ranges::none_of(used(),
                                    [&](auto const& op) { return op.reads(static_cast<DataRef>(first_made + i)); });
    return out;
}

int Graph::term_ops(Space const& space) const {
    std::array<TermId, 2 * most_data_ops> seen{};
    auto end = seen.begin();
    int out = 0;
    for (auto const& op : used())
        for (auto const term : {op.p, op.q}) {
            if (term == no_term || std::find(seen.begin(), end, term) != end) continue;
            *end++ = term;
            out += space.term(term).ops;
        }
    return out;
}

std::tuple<int, int, Graph> rank(Graph const& graph, Space const& space) {
    return {graph.count, graph.term_ops(space), canonical(graph, space)};
}

void pack(Graph const& graph, base::ByteWriter& writer) {
    writer.put(graph.count);
    for (auto const& op : graph.used()) {
        writer.put(op.code);
        writer.put(op.x);
        writer.put(op.y);
        writer.put(op.p);
        writer.put(op.q);
    }
}

Graph unpack_graph(base::ByteReader& reader, Space const& space) {
    Graph out;
    auto const count = reader.get<std::uint8_t>();
    if (count > most_data_ops) throw base::SystemError("a packed graph has {} operators", count);
    for (int i = 0; i < count; ++i) {
        GraphOp op;
        op.code = reader.get<Op>();
        op.x = reader.get<DataRef>();
        op.y = reader.get<DataRef>();
        op.p = reader.get<TermId>();
        op.q = reader.get<TermId>();
        auto const is_data = [&](DataRef ref) {
            return ref < space.data_inputs() || (ref >= first_made && ref < first_made + i);
        };
        auto const is_term = [&](TermId id) { return id == no_term || id < space.terms().size(); };
        if (static_cast<int>(op.code) >= op_count || !is_data(op.x) || (op.y != no_data && !is_data(op.y)) ||
            !is_term(op.p) || !is_term(op.q))
            throw base::SystemError("operator {} of a packed graph is not an operator", i + 1);
        out.push(op);
    }
    return out;
}

GraphOp renamed(GraphOp const& op, Naming const& naming) {
    auto const data = [&](DataRef ref) { return ref < first_made ? DataRef{naming.data[ref]} : ref; };
    auto const term = [&](TermId id) { return id == no_term ? id : naming.terms[id]; };
    GraphOp out{op.code, data(op.x), data(op.y), term(op.p), term(op.q)};
    if (out.y != no_data && out.y < out.x) std::swap(out.x, out.y);
    return out;
}
Graph renamed(Graph const& graph, Naming const& naming) {
    Graph out;
    for (auto const& op : graph.used()) out.push(renamed(op, naming));
    return out;
}

bool is_canonical(Graph const& graph, Space const& space) {
    return std::ranges::none_of(space.namings(),
                                [&](Naming const& naming) { return has_smaller(renamed(graph, naming), graph); });
}

Graph in_order(Graph const& graph) { return smallest_order(graph); }

Graph canonical(Graph const& graph, Space const& space) {
    auto best = smallest_order(graph);
    for (auto const& naming : space.namings()) best = std::min(best, smallest_order(renamed(graph, naming)));
    return best;
}

Type type_of(DataRef ref, Graph const& graph) {
    if (ref < first_made) return Type::data;
    auto const& op = graph.ops[static_cast<std::size_t>(ref - first_made)];
    if (op.code == Op::conv || op.code == Op::conv_bias) return Type::result;
    return type_of(op.x, graph);
}

std::optional<std::vector<Tensor>> evaluate(Graph const& graph, World const& world) {
    std::vector<Tensor> out;
    out.reserve(graph.count);
    auto const data = [&](DataRef ref) -> Tensor const* {
        if (ref == no_data) return nullptr;
        return ref < first_made ? &world.data(ref) : &out[static_cast<std::size_t>(ref - first_made)];
    };
    for (auto const& op : graph.used()) {
        Reads const reads{data(op.x), data(op.y), world.term(op.p), world.term(op.q)};
        if ((op.p != no_term && !reads.p) || (op.q != no_term && !reads.q)) return std::nullopt;
        auto made = apply(op.code, reads, world.sizes());
        if (!made) return std::nullopt;
        out.push_back(std::move(*made));
    }
    return out;
}

std::optional<std::uint64_t> print_in(Graph const& graph, World const& world) {
    auto const made = evaluate(graph, world);
    if (!made) return std::nullopt;
    return print_of(made->back());
}

std::vector<TermId> parameters_of(Graph const& a, Graph const& b, Space const& space) {
    std::set<TermId> out;
    for (auto const* graph : {&a, &b})
        for (auto const& op : graph->used())
            for (auto const term : {op.p, op.q})
                if (term != no_term)
                    for (auto const input : space.inputs_of(term)) out.insert(input);
    return {out.begin(), out.end()};
}

library::Graph plain(Graph const& graph, Space const& space) { return Plain(space).graph(graph); }

std::vector<library::Input> plain_inputs(Graph const& a, Graph const& b, Space const& space) {
    std::vector<library::Input> out;
    for (int i = 0; i < space.data_inputs(); ++i) {
        auto const ref = static_cast<DataRef>(i);
        auto const reads = [&](GraphOp const& op) { return op.reads(ref); };
        if (std::ranges::any_of(a.used(), reads) || std::ranges::any_of(b.used(), reads))
            out.push_back({.name = space.data_name(i)});
    }
    for (auto const id : parameters_of(a, b, space))
        out.push_back({.name = space.term(id).name, .kind = class_of(space.term(id).type)});
    return out;
}

} // namespace espalier::problems::substitution::affine
