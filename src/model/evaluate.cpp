#include "espalier/model/evaluate.hpp"

#include "array.hpp"
#include "call.hpp"
#include "espalier/base/error.hpp"
#include "nest_evaluate.hpp"

#include <memory>

namespace espalier::model {
namespace {

std::string title(Node const& node) {
    auto const output = node.outputs.empty() ? std::string{} : node.outputs.front();
    return node.name.empty() ? fmt::format("{} that makes '{}'", node.op, output)
                             : fmt::format("{} '{}'", node.op, node.name);
}

/// Values while a model runs: each is there from its maker to its last reader.
class Run {
public:
    Run(Model const& model, Arrays const& inputs, base::StopToken const& stop)
        : model_(model), inputs_(inputs),
          stop_(stop), knowledge_{.type = [this](std::string const& name) { return type(name); },
                                  .wholes = [this](std::string const& name) { return wholes(name); }} {
        for (auto const& node : model.nodes)
            for (auto const& input : node.inputs) ++readers_[input];
        for (auto const& output : model.outputs) ++readers_[output.name];
        for (auto const& input : model.inputs) check(input);
    }
    [[nodiscard]] Arrays outputs() {
        for (auto const& node : model_.nodes) step(node);
        Arrays out;
        for (auto const& output : model_.outputs) {
            if (!find(output.name))
                throw base::InputError("the output '{}' of the model is made by nobody", output.name);
            out[output.name] = *find(output.name);
        }
        return out;
    }

private:
    void check(Value const& input) {
        auto const found = inputs_.find(input.name);
        if (found == inputs_.end() && (model_.defaults.contains(input.name) || model_.constant(input.name))) return;
        if (found == inputs_.end())
            throw base::InputError("the input '{}' of the model is not given (all of them are needed): give it",
                                   input.name);
        auto const& given = found->second;
        auto const elements = static_cast<std::size_t>(element_count(given.dims));
        if (given.element != input.type.element && input.type.element != Element::none)
            throw base::InputError("the input '{}' is of {} (the model reads {}): give it as that", input.name,
                                   info(given.element).name, info(input.type.element).name);
        if ((is_real(given.element) ? given.reals.size() : given.wholes.size()) != elements &&
            is_understood(given.element))
            throw base::InputError("the input '{}' has not as many elements as its shape {} says", input.name,
                                   words(given.dims));
    }
    void step(Node const& node) {
        stop_.check();
        auto const definition = define_call(node, model_, knowledge_);
        if (auto const* const why = std::get_if<std::string>(&definition))
            throw base::InputError("{}: {} (only ops that are understood can be computed)", title(node), *why);
        auto const& known = std::get<Definition>(definition);
        Sources operands;
        for (std::size_t i = 0; i < known.operands; ++i) operands.push_back(find(node.inputs[i]));
        auto made = evaluate_definition(known, node, operands, stop_);
        for (std::size_t i = 0; i < made.size() && i < node.outputs.size(); ++i)
            if (!node.outputs[i].empty() && readers_[node.outputs[i]] > 0)
                values_[node.outputs[i]] = std::move(made[i]);
        for (auto const& input : node.inputs)
            if (--readers_[input] == 0) values_.erase(input);
    }
    [[nodiscard]] Array const* find(std::string const& name) {
        if (name.empty()) return nullptr;
        if (auto const found = values_.find(name); found != values_.end()) return &found->second;
        if (auto const found = inputs_.find(name); found != inputs_.end() && !model_.constant(name))
            return &found->second;
        auto const* data = model_.constant(name);
        if (auto const found = model_.defaults.find(name); !data && found != model_.defaults.end())
            data = found->second.get();
        return data ? &(values_[name] = to_array(*data)) : nullptr;
    }
    [[nodiscard]] Known const* type(std::string const& name) {
        auto const* const array = find(name);
        if (!array) return nullptr;
        known_ = {array->element, array->dims};
        return &types_.insert_or_assign(name, known_).first->second;
    }
    [[nodiscard]] std::optional<Wholes> wholes(std::string const& name) {
        auto const* const array = find(name);
        return array && !is_real(array->element) ? std::optional(array->wholes) : std::nullopt;
    }

    Model const& model_;
    Arrays const& inputs_;
    base::StopToken const& stop_;
    std::map<std::string, std::size_t> readers_; ///< to come
    Arrays values_;
    KnownTypes types_;
    Known known_;
    Knowledge knowledge_;
};

} // namespace

Arrays evaluate(Model const& model, Arrays const& inputs, base::StopToken const& stop) {
    return Run(model, inputs, stop).outputs();
}

} // namespace espalier::model
