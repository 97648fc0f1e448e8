#include "espalier/problems/substitution/operator_graph.hpp"

#include "espalier/base/error.hpp"
#include "espalier/problems/substitution/tensor_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

namespace espalier::problems::substitution {
namespace {

/// Which operators hang together; each points to another one of its component, or to itself.
class Components {
public:
    explicit Components(int count) : next_(static_cast<std::size_t>(count)) {
        std::iota(next_.begin(), next_.end(), 0);
    }
    [[nodiscard]] int of(int op) {
        auto& next = next_[static_cast<std::size_t>(op)];
        return next == op ? op : next = of(next);
    }
    void join(int a, int b) { next_[static_cast<std::size_t>(of(a))] = of(b); }

private:
    std::vector<int> next_;
};

} // namespace

GraphOp sorted(GraphOp op) {
    if (info(op.code).is_commutative && op.a > op.b) std::swap(op.a, op.b);
    return op;
}

bool OperatorGraph::is_read(int op) const {
    return std::ranges::any_of(used(), [&](auto const& reader) { return reader.reads(op); });
}
bool OperatorGraph::is_read(Ref ref) const {
    return std::ranges::any_of(used(), [&](auto const& reader) { return reader.a == ref || reader.b == ref; });
}

std::vector<Ref> OperatorGraph::outputs() const {
    std::vector<Ref> out;
    for (int op = 0; op < count; ++op)
        for (int i = 0; i < info(ops[static_cast<std::size_t>(op)].code).outputs; ++i)
            if (auto const ref = result_of(op, i); !is_read(ref)) out.push_back(ref);
    return out;
}

bool OperatorGraph::is_connected() const {
    Components components(count);
    std::array<std::optional<int>, first_result> reader{};
    for (int op = 0; op < count; ++op)
        for (auto const ref : {ops[static_cast<std::size_t>(op)].a, ops[static_cast<std::size_t>(op)].b}) {
            if (ref == no_ref) continue;
            if (is_result(ref))
                components.join(op, maker_of(ref));
            else
                components.join(op, *(reader[ref] = reader[ref].value_or(op)));
        }
    for (int op = 1; op < count; ++op)
        if (components.of(op) != components.of(0)) return false;
    return true;
}

std::array<std::uint8_t, class_count> OperatorGraph::inputs_used() const {
    std::array<std::uint8_t, class_count> out{};
    auto const& slots = input_slots();
    for (auto const& op : used())
        for (auto const ref : {op.a, op.b})
            if (ref < first_result) {
                auto& most = out[static_cast<std::size_t>(slots.class_of(ref))];
                most = std::max(most, static_cast<std::uint8_t>(slots.number_of(ref) + 1));
            }
    return out;
}

void pack(OperatorGraph const& graph, base::ByteWriter& writer) {
    writer.put(graph.count);
    for (auto const& op : graph.used()) {
        writer.put(op.code);
        writer.put(op.a);
        writer.put(op.b);
    }
}

OperatorGraph unpack_graph(base::ByteReader& reader) {
    OperatorGraph out;
    auto const count = reader.get<std::uint8_t>();
    auto const is_good = [&](Ref ref, int at) {
        if (ref == no_ref) return true;
        return is_result(ref) ? maker_of(ref) < at : ref < input_slots().count();
    };
    if (count > max_ops) throw base::SystemError("a packed graph has {} operators, more than {}", count, max_ops);
    for (int i = 0; i < count; ++i) {
        GraphOp op{reader.get<Operator>(), reader.get<Ref>(), reader.get<Ref>()};
        if (static_cast<std::size_t>(op.code) >= operator_count || !is_good(op.a, i) || !is_good(op.b, i))
            throw base::SystemError("operator {} of a packed graph is not an operator", i + 1);
        out.push(op);
    }
    return out;
}

std::string name_of(Ref ref) {
    auto const& slots = input_slots();
    if (is_result(ref)) return fmt::format("t{}{}", maker_of(ref) + 1, (ref - first_result) % 2 == 0 ? "" : "'");
    auto const& row = input_classes()[static_cast<std::size_t>(slots.class_of(ref))];
    return row.count == 1 ? std::string(row.name) : fmt::format("{}{}", row.name, slots.number_of(ref) + 1);
}

std::string to_text(OperatorGraph const& graph) {
    std::string out;
    for (int op = 0; op < graph.count; ++op) {
        auto const& [code, a, b] = graph.ops[static_cast<std::size_t>(op)];
        auto const& row = info(code);
        out += fmt::format("{}{}{} = {}", out.empty() ? "" : "; ", name_of(result_of(op, 0)),
                           row.outputs == 2 ? ", " + name_of(result_of(op, 1)) : "", row.name);
        for (auto const ref : {a, b})
            if (ref != no_ref) out += " " + name_of(ref);
    }
    out += "; out";
    for (auto const ref : graph.outputs()) out += " " + name_of(ref);
    return out;
}

} // namespace espalier::problems::substitution
