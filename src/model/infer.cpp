#include "array.hpp"
#include "call.hpp"
#include "nest_evaluate.hpp"
#include "outline.hpp"

#include "espalier/base/error.hpp"

#include <algorithm>
#include <set>

namespace espalier::model {
namespace {

/// Whole numbers that say how, such as shapes, are few; larger tensors are data.
constexpr std::int64_t most_wholes = 4096;

std::optional<Wholes> wholes_of(Tensor const& tensor) {
    if (!is_understood(tensor.element) || is_real(tensor.element) || tensor.size() > most_wholes) return std::nullopt;
    return to_array(tensor).wholes;
}

Knowledge knowledge_of(Model const& model, Facts const& facts) {
    return {.type = [&facts](std::string const& name) -> Known const* {
                auto const found = facts.types.find(name);
                return found == facts.types.end() ? nullptr : &found->second;
            },
            .wholes = [&model, &facts](std::string const& name) -> std::optional<Wholes> {
                if (auto const* const tensor = model.constant(name)) return wholes_of(*tensor);
                auto const found = facts.constants.find(name);
                return found == facts.constants.end() ? std::nullopt : wholes_of(*found->second);
            }};
}

/// What a dimension without a size of its own is: nothing if nobody says.
using SizeOf = std::function<std::optional<std::int64_t>(std::string const&)>;
std::optional<Known> known_type(Type const& type, SizeOf const& size_of) {
    if (type.element == Element::none || !type.shape) return std::nullopt;
    Known out{type.element, {}};
    std::int64_t elements = 1;
    for (auto const& dimension : *type.shape) {
        auto const size = dimension.size && *dimension.size >= 0 ? dimension.size : size_of(dimension.name);
        if (!size || *size < 0 || __builtin_mul_overflow(elements, std::max<std::int64_t>(*size, 1), &elements))
            return std::nullopt;
        out.dims.push_back(*size);
    }
    return out;
}

/// What the file says about a value, if it is another than what follows.
std::optional<std::string> contradiction(std::string const& name, Known const& known, Model const& model) {
    auto const* said = static_cast<Type const*>(nullptr);
    if (auto const found = model.types.find(name); found != model.types.end()) said = &found->second;
    for (auto const& output : model.outputs)
        if (output.name == name) said = &output.type;
    if (!said || said->element == Element::none) return std::nullopt;
    if (said->element != known.element)
        return fmt::format("the file says that '{}' is of {}, but it is of {}", name, info(said->element).name,
                           info(known.element).name);
    if (!said->shape) return std::nullopt;
    auto const& shape = *said->shape;
    auto is_other = shape.size() != known.dims.size();
    for (std::size_t i = 0; i < shape.size() && !is_other; ++i)
        is_other = shape[i].size && *shape[i].size >= 0 && *shape[i].size != known.dims[i];
    if (!is_other) return std::nullopt;
    return fmt::format("the file says that '{}' is of another shape than {}", name, words(known.dims));
}

/// A node that the file contradicts is not understood.
DefinitionOr define_as_said(Node const& node, Model const& model, Knowledge const& knowledge) {
    auto out = define_call(node, model, knowledge);
    auto const* const definition = std::get_if<Definition>(&out);
    if (!definition) return out;
    for (std::size_t i = 0; i < std::min(node.outputs.size(), definition->outputs.size()); ++i)
        if (auto why = contradiction(node.outputs[i], definition->type_of(i), model)) return std::move(*why);
    return out;
}

class Inference {
public:
    Inference(Model const& model, Sizes const& sizes) : model_(model), knowledge_(knowledge_of(model, facts_)) {
        auto const given = [&](std::string const& name) {
            auto const found = sizes.find(name);
            return found == sizes.end() ? std::int64_t{1} : found->second;
        };
        for (auto const& [name, size] : sizes) sizes_.insert({name, size});
        for (auto const& input : model.inputs) {
            if (!input.type.shape) continue;
            for (auto const& dimension : *input.type.shape)
                if (!dimension.size && !dimension.name.empty()) sizes_[dimension.name] = given(dimension.name);
            if (auto type = known_type(input.type, [&](auto const& name) { return std::optional(given(name)); }))
                facts_.types[input.name] = std::move(*type);
        }
        for (auto const& [name, tensor] : model.constants) facts_.types[name] = {tensor->element, tensor->dims};
    }
    [[nodiscard]] Facts run() {
        for (auto const& node : model_.nodes) follow(node);
        return std::move(facts_);
    }

private:
    void follow(Node const& node) {
        auto const definition = define_as_said(node, model_, knowledge_);
        if (auto const* const known = std::get_if<Definition>(&definition)) {
            for (std::size_t i = 0; i < std::min(node.outputs.size(), known->outputs.size()); ++i)
                if (!node.outputs[i].empty()) facts_.types[node.outputs[i]] = known->type_of(i);
            fold(node, *known);
        }
        for (auto const& output : node.outputs)
            if (!output.empty() && !facts_.types.contains(output)) take_from_file(output);
        if (std::holds_alternative<Definition>(definition)) return;
        auto const outline = outline_of(node, model_, knowledge_);
        for (std::size_t i = 0; i < std::min(outline.size(), node.outputs.size()); ++i)
            if (outline[i] && !node.outputs[i].empty()) facts_.types.try_emplace(node.outputs[i], *outline[i]);
    }
    void take_from_file(std::string const& name) {
        auto const found = model_.types.find(name);
        if (found == model_.types.end()) return;
        auto const size_of = [&](std::string const& dimension) -> std::optional<std::int64_t> {
            auto const size = sizes_.find(dimension);
            return dimension.empty() || size == sizes_.end() ? std::nullopt : std::optional(size->second);
        };
        if (auto type = known_type(found->second, size_of)) facts_.types[name] = std::move(*type);
    }
    /// Whole numbers that are made of constants are constants.
    void fold(Node const& node, Definition const& definition) {
        if (!is_small_and_whole(definition)) return;
        std::vector<Array> operands;
        for (auto const& input : node.inputs) {
            if (definition.nests.empty() || input.empty()) {
                operands.emplace_back();
                continue;
            }
            auto const wholes = knowledge_.wholes(input);
            if (!wholes) return;
            auto const& type = facts_.types.at(input);
            operands.push_back(
                {.element = type.element, .dims = type.dims, .reals = {}, .wholes = *wholes, .texts = {}});
        }
        operands.resize(definition.operands);
        Sources sources;
        for (auto const& operand : operands) sources.push_back(&operand);
        try {
            auto const made = evaluate_definition(definition, node, sources, {});
            for (std::size_t i = 0; i < made.size() && i < node.outputs.size(); ++i)
                if (!node.outputs[i].empty())
                    facts_.constants[node.outputs[i]] = std::make_shared<Tensor const>(to_tensor(made[i]));
        } catch (base::InputError const&) {
            // It divides by zero, or looks up what is not there: that is for whoever runs the model.
        }
    }
    [[nodiscard]] static bool is_small_and_whole(Definition const& definition) {
        for (std::size_t i = 0; i < definition.outputs.size(); ++i) {
            auto const type = definition.type_of(i);
            if (is_real(type.element) || !is_understood(type.element) || element_count(type.dims) > most_wholes)
                return false;
        }
        return true;
    }

    Model const& model_;
    Facts facts_;
    Knowledge knowledge_;
    Sizes sizes_; ///< of all names that have one
};

} // namespace

Facts infer(Model const& model, Sizes const& sizes) { return Inference(model, sizes).run(); }

DefinitionOr define(Node const& node, Model const& model, Facts const& facts) {
    return define_as_said(node, model, knowledge_of(model, facts));
}

std::optional<std::string> not_understood(Node const& node, Model const& model, Facts const& facts) {
    auto out = define(node, model, facts);
    if (auto* const why = std::get_if<std::string>(&out)) return std::move(*why);
    return std::nullopt;
}

} // namespace espalier::model
