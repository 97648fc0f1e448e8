#include "graphs.hpp"

#include <algorithm>

namespace espalier::model {
namespace {

/// What is made so far in a graph, and in those around it up to the node.
struct Scope {
    Scope const* around = nullptr;
    std::set<std::string> names;

    [[nodiscard]] bool has(std::string const& name) const {
        for (auto const* scope = this; scope != nullptr; scope = scope->around)
            if (scope->names.contains(name)) return true;
        return false;
    }
};

struct Inside {
    std::set<std::string> used, made;

    void use(std::string const& name, Scope const& scope) {
        if (!name.empty() && !scope.has(name)) used.insert(name);
    }
    void make(std::string const& name, Scope& scope) {
        scope.names.insert(name);
        made.insert(name);
    }
};

void look_into(pb::GraphProto const& graph, Scope const* around, Inside& inside);

void look_into(pb::NodeProto const& node, Scope const* around, Inside& inside) {
    for (auto const& attribute : node.attribute()) {
        if (attribute.has_g()) look_into(attribute.g(), around, inside);
        for (auto const& graph : attribute.graphs()) look_into(graph, around, inside);
    }
}

void look_into(pb::GraphProto const& graph, Scope const* around, Inside& inside) {
    Scope scope{.around = around};
    for (auto const& input : graph.input()) inside.make(input.name(), scope);
    for (auto const& tensor : graph.initializer()) inside.make(tensor.name(), scope);
    for (auto const& sparse : graph.sparse_initializer()) inside.make(sparse.values().name(), scope);
    for (auto const& node : graph.node()) {
        for (auto const& name : node.input()) inside.use(name, scope);
        look_into(node, &scope, inside);
        for (auto const& name : node.output()) inside.make(name, scope);
    }
    for (auto const& output : graph.output()) inside.use(output.name(), scope);
    for (auto const& annotation : graph.quantization_annotation())
        for (auto const& entry : annotation.quant_parameter_tensor_names()) inside.use(entry.value(), scope);
}

std::size_t count_in(pb::GraphProto const& graph) {
    std::size_t count = 0;
    for (auto const& node : graph.node()) {
        count += is_counted(node.op_type(), domain_of(node.domain())) ? 1 : 0;
        for (auto const& attribute : node.attribute()) count += count_inside(attribute);
    }
    return count;
}

void insert_all(pb::GraphProto const& graph, std::set<std::string>& names) {
    for (auto const& node : graph.node()) {
        names.insert(node.input().begin(), node.input().end());
        for (auto const& outer : outer_names(node)) names.insert(outer.first);
    }
    for (auto const& output : graph.output()) names.insert(output.name());
}

/// Depth first, with a stack of its own: graphs are as deep as they are long.
class Ordering {
public:
    explicit Ordering(std::vector<std::vector<std::size_t>> const& needs)
        : needs_(needs), state_(needs.size(), State::unseen), next_(needs.size(), 0) {}

    Order run() {
        for (std::size_t i = 0; i < needs_.size() && !order_.cyclic; ++i)
            if (state_[i] == State::unseen) visit(i);
        return std::move(order_);
    }

private:
    enum class State : std::uint8_t { unseen, open, done };

    void visit(std::size_t root) {
        open(root);
        while (!stack_.empty() && !order_.cyclic) step(stack_.back());
    }
    void open(std::size_t i) {
        state_[i] = State::open;
        stack_.push_back(i);
    }
    void step(std::size_t i) {
        if (next_[i] == needs_[i].size()) {
            state_[i] = State::done;
            order_.places.push_back(i);
            stack_.pop_back();
            return;
        }
        auto const need = needs_[i][next_[i]++];
        if (state_[need] == State::open) order_.cyclic = need;
        if (state_[need] == State::unseen) open(need);
    }

    std::vector<std::vector<std::size_t>> const& needs_;
    std::vector<State> state_;
    std::vector<std::size_t> next_, stack_;
    Order order_;
};

} // namespace

OuterNames outer_names(pb::NodeProto const& node) {
    Inside inside;
    look_into(node, nullptr, inside);
    OuterNames names;
    for (auto const& name : inside.used) names.emplace(name, inside.made.contains(name));
    return names;
}

bool is_counted(std::string const& op, std::string const& domain) {
    return !(domain.empty() && (op == "Constant" || op == "Identity" || op == "ConstantOfShape"));
}

std::size_t count_inside(pb::AttributeProto const& attribute) {
    auto count = attribute.has_g() ? count_in(attribute.g()) : 0;
    for (auto const& graph : attribute.graphs()) count += count_in(graph);
    return count;
}

std::set<std::string> names_elsewhere(pb::ModelProto const& model) {
    std::set<std::string> names;
    for (auto const& annotation : model.graph().quantization_annotation())
        for (auto const& entry : annotation.quant_parameter_tensor_names()) names.insert(entry.value());
    for (auto const& training : model.training_info()) {
        insert_all(training.initialization(), names);
        insert_all(training.algorithm(), names);
        for (auto const& binding : training.initialization_binding()) names.insert({binding.key(), binding.value()});
        for (auto const& binding : training.update_binding()) names.insert({binding.key(), binding.value()});
    }
    return names;
}

Order in_order(std::vector<std::vector<std::size_t>> const& needs) { return Ordering(needs).run(); }

} // namespace espalier::model
