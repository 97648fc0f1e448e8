#include "espalier/problems/rewrite/parts.hpp"

#include "order.hpp"

#include "espalier/model/onnx.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

namespace espalier::problems::rewrite {
namespace {

using model::Model;
using model::Node;

/// Ops that only hold or pass on values: nobody counts them as work.
bool is_plain(Node const& node) {
    return node.domain.empty() && (node.op == "Constant" || node.op == "Identity" || node.op == "ConstantOfShape");
}
std::string full_name(Node const& node) { return node.domain.empty() ? node.op : node.domain + "." + node.op; }

/// Rules over the reals: what they read may also be a constant (a bound, an axis), what they make is real.
bool is_real_node(Node const& node, Model const& model, model::Facts const& facts) {
    for (auto const& name : node.outputs) {
        if (name.empty()) continue;
        auto const type = facts.types.find(name);
        if (type == facts.types.end() || !model::is_real(type->second.element)) return false;
    }
    return std::ranges::all_of(node.inputs, [&](auto const& name) {
        if (name.empty() || model.constant(name) != nullptr || facts.constants.contains(name)) return true;
        auto const type = facts.types.find(name);
        return type != facts.types.end() && model::is_real(type->second.element);
    });
}

/// Nodes in the order of the file, but each as late as the first one that needs it: chains stay together, and what is
/// not understood does not stand between them.
struct Line {
    std::vector<std::vector<std::size_t>> units;
    std::vector<char> is_free; ///< by node: may be rewritten
};

/// The longest stretches of free nodes that follow each other; what stands together is one of its own.
std::vector<std::vector<std::size_t>> stretches(Line const& line) {
    std::vector<std::vector<std::size_t>> out(1);
    for (auto const& unit : line.units) {
        auto const is_single = unit.size() == 1;
        if (is_single && line.is_free[unit.front()]) {
            out.back().push_back(unit.front());
            continue;
        }
        if (!is_single) out.push_back(unit);
        if (!out.back().empty()) out.emplace_back();
    }
    std::erase_if(out, [](auto const& stretch) { return stretch.empty(); });
    return out;
}

/// How many values of the stretch are alive between its node i - 1 and its node i.
std::vector<std::size_t> widths(Model const& model, std::vector<std::size_t> const& stretch) {
    std::map<std::string, std::size_t> made, last;
    for (std::size_t i = 0; i < stretch.size(); ++i) {
        for (auto const& name : model.nodes[stretch[i]].inputs)
            if (made.contains(name)) last[name] = i;
        for (auto const& name : model.nodes[stretch[i]].outputs)
            if (!name.empty()) made[name] = i;
    }
    std::vector<std::size_t> out(stretch.size() + 1, 0);
    for (auto const& [name, end] : last)
        for (auto i = made[name] + 1; i <= end; ++i) ++out[i];
    return out;
}

/// Ends of parts: the fewest values cross them, and then they are few.
std::vector<std::size_t> ends(std::vector<std::size_t> const& width, std::size_t most) {
    auto const count = width.size() - 1;
    constexpr auto infinite = std::numeric_limits<std::size_t>::max() / 2;
    std::vector<std::size_t> cost(count + 1, infinite), from(count + 1, 0);
    cost[0] = 0;
    for (std::size_t end = 1; end <= count; ++end)
        for (auto begin = end > most ? end - most : 0; begin < end; ++begin) {
            auto const now = cost[begin] + (end < count ? 2 * width[end] + 1 : 0);
            if (now < cost[end]) {
                cost[end] = now;
                from[end] = begin;
            }
        }
    std::vector<std::size_t> out;
    for (auto end = count; end > 0; end = from[end]) out.push_back(end);
    std::ranges::reverse(out);
    return out;
}

class PartMaker {
public:
    PartMaker(Model const& model, model::Facts const& facts) : model_(model), facts_(facts) {
        for (std::size_t i = 0; i < model.nodes.size(); ++i) {
            for (auto const& name : model.nodes[i].inputs) readers_[name].insert(i);
            for (auto const& name : model.nodes[i].captured) readers_[name].insert(i);
        }
        for (auto const& output : model.outputs) readers_[output.name].insert(outside);
    }

    [[nodiscard]] Part make(std::vector<std::size_t> nodes) {
        Part part{.graph = {.opset = model_.opset()}, .inputs = {}, .outputs = {}, .nodes = std::move(nodes)};
        std::map<std::string, ValueId> ids;
        for (auto const index : part.nodes) {
            auto const& node = model_.nodes[index];
            Operation op{make_kernel(node.op, node.attributes), {}, {}, index};
            for (auto const& name : node.inputs) op.in.push_back(operand(part, ids, name));
            for (auto const& name : node.outputs) {
                auto const id = static_cast<ValueId>(part.graph.values.size());
                part.graph.values.push_back({name.empty() ? model::Known{} : facts_.types.at(name), nullptr});
                if (!name.empty()) ids[name] = id;
                op.out.push_back(id);
            }
            part.graph.ops.push_back(std::move(op));
        }
        std::set<std::size_t> const inside(part.nodes.begin(), part.nodes.end());
        for (auto const index : part.nodes)
            for (auto const& name : model_.nodes[index].outputs)
                if (std::ranges::any_of(readers_[name], [&](auto reader) { return !inside.contains(reader); })) {
                    part.outputs.push_back(name);
                    part.graph.outputs.push_back(ids.at(name));
                }
        part.structure = structure_of(part.graph);
        return part;
    }

private:
    static constexpr auto outside = std::numeric_limits<std::size_t>::max();

    [[nodiscard]] ValueId operand(Part& part, std::map<std::string, ValueId>& ids, std::string const& name) {
        if (name.empty()) return no_value;
        if (auto const found = ids.find(name); found != ids.end()) return found->second;
        auto const id = static_cast<ValueId>(part.graph.values.size());
        ids[name] = id;
        if (auto constant = known(name)) {
            part.graph.values.push_back({{constant->array.element, constant->array.dims}, std::move(constant)});
            return id;
        }
        part.graph.values.push_back({facts_.types.at(name), nullptr});
        part.graph.inputs.push_back(id);
        part.inputs.push_back(name);
        return id;
    }
    [[nodiscard]] ConstantPtr known(std::string const& name) {
        if (auto const found = constants_.find(name); found != constants_.end()) return found->second;
        auto const own = model_.constants.find(name);
        auto const inferred = facts_.constants.find(name);
        model::TensorPtr const tensor = own != model_.constants.end()        ? own->second
                                        : inferred != facts_.constants.end() ? inferred->second
                                                                             : nullptr;
        auto constant = tensor ? make_constant(model::to_array(*tensor), tensor) : nullptr;
        constants_.emplace(name, constant);
        return constant;
    }

    Model const& model_;
    model::Facts const& facts_;
    std::map<std::string, std::set<std::size_t>> readers_;
    std::map<std::string, ConstantPtr> constants_;
};

Understood examined(Model const& model, model::Facts const& facts, Line& line) {
    Understood out;
    line.is_free.assign(model.nodes.size(), 0);
    for (std::size_t i = 0; i < model.nodes.size(); ++i) {
        auto const& node = model.nodes[i];
        auto const reason = model::not_understood(node, model, facts);
        line.is_free[i] = !reason && is_real_node(node, model, facts);
        if (is_plain(node)) continue;
        if (!reason) {
            ++out.understood;
            continue;
        }
        ++out.opaque_ops[full_name(node)];
        out.reasons.emplace(full_name(node), *reason);
    }
    out.nodes = model::count_nodes(model); // with those of branches and loops, which nobody looks into
    out.opaque = out.nodes - out.understood;
    return out;
}

/// Nodes that multiply by the same constant and do not depend on each other, as all steps of a recurrent network do
/// with its input: far apart in the model, and yet one product.
Units with_shared_weights(Model const& model, std::vector<char> const& is_free) {
    constexpr std::int64_t least = 64; // elements that are worth reading once
    std::map<std::string, std::vector<std::size_t>> users;
    for (std::size_t i = 0; i < model.nodes.size(); ++i) {
        auto const& weight = model.nodes[i].input(1);
        auto const* const constant = model.constant(weight);
        if (is_free[i] && model.nodes[i].op == "MatMul" && constant != nullptr && constant->size() >= least)
            users[weight].push_back(i);
    }
    auto units = single_units(model);
    auto const reads_another = [&](std::vector<std::size_t> const& nodes) {
        std::set<std::string> made;
        for (auto const node : nodes) made.insert(model.nodes[node].outputs.begin(), model.nodes[node].outputs.end());
        return std::ranges::any_of(nodes, [&](auto node) { return made.contains(model.nodes[node].input(0)); });
    };
    for (auto const& [weight, nodes] : users) {
        if (nodes.size() < 2 || reads_another(nodes)) continue;
        auto together = units;
        for (auto const node : nodes) together[node].clear();
        together[nodes.front()] = nodes;
        if (chained(model, together)) units = std::move(together);
    }
    return units;
}

} // namespace

Cut cut(Model const& model, CutOptions const& options) {
    Cut out{.facts = model::infer(model, options.sizes), .understood = {}, .parts = {}};
    Line line;
    out.understood = examined(model, out.facts, line);
    auto const units = with_shared_weights(model, line.is_free);
    auto const order = chained(model, units).value();
    for (auto const unit : order)
        if (!units[unit].empty()) line.units.push_back(units[unit]);
    PartMaker maker(model, out.facts);
    for (auto const& stretch : stretches(line)) {
        std::size_t begin = 0;
        for (auto const end : ends(widths(model, stretch), options.most_ops)) {
            out.parts.push_back(maker.make({stretch.begin() + static_cast<std::ptrdiff_t>(begin),
                                            stretch.begin() + static_cast<std::ptrdiff_t>(end)}));
            begin = end;
        }
    }
    return out;
}

} // namespace espalier::problems::rewrite
