#include "espalier/problems/rewrite/parts.hpp"

#include "order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace espalier::problems::rewrite {
namespace {

using model::Model;
using model::Node;

/// Names that the model does not have yet.
class FreshNames {
public:
    explicit FreshNames(Model const& model) {
        for (auto const& input : model.inputs) used_.insert(input.name);
        for (auto const& [name, tensor] : model.constants) used_.insert(name);
        for (auto const& node : model.nodes) {
            used_.insert(node.outputs.begin(), node.outputs.end());
            used_.insert(node.captured.begin(), node.captured.end());
            nodes_.insert(node.name);
        }
    }
    [[nodiscard]] std::string value(std::string const& stem) { return fresh(stem, used_); }
    [[nodiscard]] std::string node(std::string const& stem) { return fresh(stem, nodes_); }

private:
    [[nodiscard]] std::string fresh(std::string const& stem, std::set<std::string>& used) {
        auto name = fmt::format("espalier_{}_{}", stem, next_++);
        while (!used.insert(name).second) name = fmt::format("espalier_{}_{}", stem, next_++);
        return name;
    }
    std::set<std::string> used_, nodes_;
    std::size_t next_ = 1;
};

/// Puts a graph in the place of a part, op by op.
class Replacement {
public:
    Replacement(Model const& model, Part const& part, Graph const& graph, FreshNames& fresh, Model& out)
        : model_(model), part_(part), graph_(graph), fresh_(fresh), out_(out), names_(graph.values.size()) {
        for (auto const& op : part.graph.ops)
            for (std::size_t i = 0; i < op.in.size(); ++i)
                if (auto const* const constant = part.graph.constant(op.in[i]); constant != nullptr)
                    known_.emplace(constant, model.nodes[*op.origin].inputs[i]);
    }

    void write() {
        for (std::size_t i = 0; i < part_.inputs.size(); ++i)
            names_[static_cast<std::size_t>(graph_.inputs[i])] = part_.inputs[i];
        for (std::size_t i = 0; i < part_.outputs.size(); ++i) {
            auto& name = names_[static_cast<std::size_t>(graph_.outputs[i])];
            if (name.empty())
                name = part_.outputs[i];
            else
                copies_.push_back(i);
        }
        for (auto const& op : graph_.ops) write(op);
        for (auto const i : copies_)
            out_.nodes.push_back({.op = "Identity",
                                  .name = fresh_.node("Identity"),
                                  .inputs = {name_of(graph_.outputs[i])},
                                  .outputs = {part_.outputs[i]}});
        for (auto const id : graph_.outputs)
            if (graph_.constant(id) != nullptr && !out_.constants.contains(name_of(id))) keep_constant(id);
    }

private:
    /// An op that is the model's own keeps its node where its names are the same.
    void write(Operation const& op) {
        Node node{.op = op.kernel->op, .inputs = {}, .outputs = {}};
        node.attributes = op.kernel->attributes;
        if (op.origin) {
            auto const& own = model_.nodes[*op.origin];
            for (std::size_t i = 0; i < op.out.size(); ++i)
                if (auto& name = names_[static_cast<std::size_t>(op.out[i])]; name.empty() && is_inner(own.outputs[i]))
                    name = own.outputs[i];
        }
        for (auto const id : op.in) node.inputs.push_back(name_of(id));
        for (auto const id : op.out)
            node.outputs.push_back(graph_.value(id).type.element == model::Element::none ? std::string{} : name_of(id));
        if (op.origin) {
            auto const& own = model_.nodes[*op.origin];
            node.name = own.name;
            if (own.inputs == node.inputs && own.outputs == node.outputs) node.origin = own.origin;
        } else {
            node.name = fresh_.node(node.op);
        }
        out_.nodes.push_back(std::move(node));
    }
    /// What the part gives to others may be made by another op now.
    [[nodiscard]] bool is_inner(std::string const& name) const {
        return std::ranges::find(part_.outputs, name) == part_.outputs.end();
    }
    [[nodiscard]] std::string name_of(ValueId id) {
        if (id == no_value) return {};
        auto& name = names_[static_cast<std::size_t>(id)];
        if (!name.empty()) return name;
        if (graph_.constant(id) == nullptr) return name = fresh_.value("value");
        if (auto const found = known_.find(graph_.constant(id)); found != known_.end()) return name = found->second;
        name = fresh_.value("constant");
        keep_constant(id);
        return name;
    }
    void keep_constant(ValueId id) {
        auto const& constant = *graph_.constant(id);
        auto tensor = constant.tensor;
        if (!tensor) tensor = std::make_shared<model::Tensor const>(model::to_tensor(constant.array));
        out_.constants[names_[static_cast<std::size_t>(id)]] = std::move(tensor);
    }

    Model const& model_;
    Part const& part_;
    Graph const& graph_;
    FreshNames& fresh_;
    Model& out_;
    std::vector<std::string> names_;
    std::map<Constant const*, std::string> known_; ///< names that constants have in the model
    std::vector<std::size_t> copies_;              ///< outputs that are an input, a constant or another output
};

} // namespace

Model assembled(Model const& model, std::vector<Part> const& parts, std::vector<Graph const*> const& instead) {
    auto units = single_units(model);
    std::vector<std::optional<std::size_t>> part_of(model.nodes.size()); // of the first node of each
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (instead[i] == nullptr) continue;
        for (auto const node : parts[i].nodes) units[node].clear();
        units[parts[i].nodes.front()] = parts[i].nodes;
        part_of[parts[i].nodes.front()] = i;
    }
    auto out = model;
    out.nodes.clear();
    FreshNames fresh(model);
    auto const order = chained(model, units).value();
    for (auto const unit : order) {
        if (auto const part = part_of[unit])
            Replacement(model, parts[*part], *instead[*part], fresh, out).write();
        else if (!units[unit].empty())
            out.nodes.push_back(model.nodes[unit]);
    }
    std::set<std::string> made;
    for (auto const& node : model.nodes) made.insert(node.outputs.begin(), node.outputs.end());
    std::set<std::string> still;
    for (auto const& node : out.nodes) still.insert(node.outputs.begin(), node.outputs.end());
    std::erase_if(out.types,
                  [&](auto const& told) { return made.contains(told.first) && !still.contains(told.first); });
    return out;
}

} // namespace espalier::problems::rewrite
