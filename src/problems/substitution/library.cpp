#include "espalier/problems/substitution/library.hpp"

#include "default_rules.hpp"

#include "espalier/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

namespace espalier::problems::substitution::library {
namespace {

using base::InputError;
using base::Json;

constexpr std::array<std::string_view, 4> class_names{"data", "scalar", "channel", "weights"};
constexpr std::array<std::string_view, 2> sign_names{"positive", "negative"};

/// The member of a closed set that a word stands for.
template <class Enum, std::size_t N>
Enum word_of(Json const& value, std::array<std::string_view, N> const& names, std::string_view what) {
    auto const word = value.is_string() ? value.get<std::string>() : value.dump();
    auto const at = std::ranges::find(names, word);
    if (at == names.end()) throw InputError("{} is not {}: use one of {}", word, what, fmt::join(names, ", "));
    return static_cast<Enum>(at - names.begin());
}

Json const& member(Json const& map, char const* name) {
    if (!map.is_object()) throw InputError("{} is not a map with the key {}", map.dump(), name);
    auto const at = map.find(name);
    if (at == map.end()) throw InputError("the key {} is missing", name);
    return *at;
}
std::string text_of(Json const& value, std::string_view what) {
    if (!value.is_string()) throw InputError("{} is not {}: write it as a text", value.dump(), what);
    return value.get<std::string>();
}
std::vector<std::string> texts_of(Json const& list, std::string_view what) {
    if (!list.is_array()) throw InputError("{} is not a list of {}s", list.dump(), what);
    std::vector<std::string> out;
    for (auto const& one : list) out.push_back(text_of(one, fmt::format("the name of a {}", what)));
    return out;
}

Input read_input(std::string const& name, Json const& json) {
    Input out{.name = name, .kind = word_of<InputClass>(member(json, "class"), class_names, "a class of inputs")};
    if (name.empty() || number_of(name)) throw InputError("an input is called {:?}: choose a name", name);
    if (auto const rank = json.find("rank"); rank != json.end()) {
        if (!rank->is_number_unsigned()) throw InputError("the rank of {} is not a number: {}", name, rank->dump());
        out.rank = rank->get<int>();
    }
    if (auto const dims = json.find("dims"); dims != json.end()) out.dims = texts_of(*dims, "size");
    return out;
}

Operator read_operator(Json const& json) {
    Operator out{text_of(member(json, "op"), "the name of an operator"), texts_of(member(json, "inputs"), "tensor"),
                 texts_of(member(json, "outputs"), "tensor")};
    auto const attributes = json.find("attributes");
    if (attributes == json.end()) return out;
    for (auto const& [name, value] : attributes->items()) {
        if (!value.is_number_integer())
            throw InputError("the attribute {} of {} is not a whole number: {}", name, out.op, value.dump());
        out.attributes[name] = value.get<std::int64_t>();
    }
    return out;
}

/// Whether operands are there before they are read, and nothing has the name of something else.
void check(Graph const& graph, std::vector<Input> const& inputs) {
    std::set<std::string, std::less<>> known;
    for (auto const& input : inputs) known.insert(input.name);
    auto const expect = [&](std::string const& name, std::string_view reader) {
        if (!known.contains(name) && !number_of(name))
            throw InputError("{} reads {}, which is neither an input nor made before", reader, name);
    };
    for (auto const& op : graph.operators) {
        for (auto const& name : op.inputs) expect(name, op.op);
        if (op.outputs.empty()) throw InputError("{} makes nothing", op.op);
        for (auto const& name : op.outputs)
            if (!known.insert(name).second) throw InputError("{} makes {}, which is there already", op.op, name);
    }
    if (graph.outputs.empty()) throw InputError("a side has no outputs");
    for (auto const& name : graph.outputs) expect(name, "the list of outputs");
}

Graph read_graph(Json const& json, std::vector<Input> const& inputs) {
    Graph out;
    auto const& operators = member(json, "operators");
    if (!operators.is_array()) throw InputError("operators is not a list: {}", operators.dump());
    for (auto const& one : operators) out.operators.push_back(read_operator(one));
    out.outputs = texts_of(member(json, "outputs"), "tensor");
    check(out, inputs);
    return out;
}

Rule read_rule(Json const& json) {
    Rule out{.key = text_of(member(json, "key"), "a key"),
             .verified = word_of<search::Verification>(member(json, "verified"), search::verification_names,
                                                       "how a rule is verified")};
    if (auto const at = json.find("condition"); at != json.end()) out.condition = text_of(*at, "a condition");
    for (auto const& [name, value] : member(json, "inputs").items()) out.inputs.push_back(read_input(name, value));
    if (auto const at = json.find("parameters"); at != json.end())
        for (auto const& one : *at)
            out.parameters.push_back({text_of(member(one, "of"), "the name of an input"),
                                      word_of<Sign>(member(one, "is"), sign_names, "a condition")});
    for (auto const& one : out.parameters)
        if (!out.input(one.of)) throw InputError("a condition speaks of {}, which is not an input", one.of);
    out.left = read_graph(member(json, "left"), out.inputs);
    out.right = read_graph(member(json, "right"), out.inputs);
    if (out.left.outputs.size() != out.right.outputs.size()) throw InputError("the sides have different outputs");
    return out;
}

Json to_json(Input const& input) {
    Json out{{"class", class_names[static_cast<std::size_t>(input.kind)]}};
    if (input.rank) out["rank"] = *input.rank;
    if (!input.dims.empty()) out["dims"] = input.dims;
    return out;
}

Json to_json(Graph const& graph) {
    auto operators = Json::array();
    for (auto const& op : graph.operators) {
        Json one{{"op", op.op}, {"inputs", op.inputs}, {"outputs", op.outputs}};
        if (!op.attributes.empty()) one["attributes"] = op.attributes;
        operators.push_back(std::move(one));
    }
    return {{"operators", std::move(operators)}, {"outputs", graph.outputs}};
}

std::optional<double> whole(std::string_view text) {
    std::int64_t value = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return static_cast<double>(value);
}

} // namespace

Input const* Rule::input(std::string_view name) const {
    auto const at = std::ranges::find(inputs, name, &Input::name);
    return at == inputs.end() ? nullptr : &*at;
}

std::optional<double> number_of(std::string_view operand) {
    auto const slash = operand.find('/');
    auto const above = whole(operand.substr(0, slash));
    if (!above || slash == std::string_view::npos) return above;
    auto const below = whole(operand.substr(slash + 1));
    if (!below || *below <= 0) return std::nullopt;
    return *above / *below;
}

std::string to_text(Graph const& graph) {
    std::string out;
    for (auto const& op : graph.operators) {
        out += fmt::format("{}{} = {}", out.empty() ? "" : "; ", fmt::join(op.outputs, ", "), op.op);
        for (auto const& name : op.inputs) out += " " + name;
    }
    return out + fmt::format("; out {}", fmt::join(graph.outputs, " "));
}

Library parse_library(std::string_view text) {
    auto const json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (json.is_discarded())
        throw InputError("the library of rules is not JSON: write it with show RUN --format rules");
    if (member(json, "version") != 1)
        throw InputError("the library of rules has version {}, this program reads 1", json["version"].dump());
    Library out{.space = text_of(member(json, "space"), "the name of a space"), .rules = {}};
    std::set<std::string> keys;
    for (auto const& one : member(json, "rules")) {
        auto const key = one.is_object() && one.contains("key") ? one["key"].dump() : "none";
        try {
            out.rules.push_back(read_rule(one));
            if (!keys.insert(out.rules.back().key).second) throw InputError("another rule has the same key");
        } catch (InputError const& error) {
            throw InputError("rule {} of the library, key {}: {}", keys.size() + 1, key, error.what());
        }
    }
    return out;
}

Rule parse_rule(std::string_view text) {
    auto const json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (json.is_discarded()) throw InputError("a rule is not JSON");
    return read_rule(json);
}

Json to_json(Rule const& rule) {
    Json out{{"key", rule.key}, {"verified", search::name(rule.verified)}};
    if (!rule.condition.empty()) out["condition"] = rule.condition;
    out["inputs"] = Json::object();
    for (auto const& input : rule.inputs) out["inputs"][input.name] = to_json(input);
    for (auto const& one : rule.parameters)
        out["parameters"].push_back({{"of", one.of}, {"is", sign_names[static_cast<std::size_t>(one.is)]}});
    out["left"] = to_json(rule.left);
    out["right"] = to_json(rule.right);
    return out;
}

Json to_json(Library const& library) {
    auto rules = Json::array();
    for (auto const& rule : library.rules) rules.push_back(to_json(rule));
    return {{"version", 1}, {"space", library.space}, {"rules", std::move(rules)}};
}

} // namespace espalier::problems::substitution::library

namespace espalier::problems::substitution {

library::Library const& default_library() {
    static library::Library const one = library::parse_library(default_rules());
    return one;
}

} // namespace espalier::problems::substitution
