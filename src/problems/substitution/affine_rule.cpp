#include "affine_rule.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/hash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace espalier::problems::substitution::affine {
namespace {

constexpr int worlds_of_signs = 8;
constexpr Sizes other_shapes{.channels = 8, .out_channels = 8, .groups = 4, .merged = 2, .kernel = 3, .width = 6};
constexpr Sizes few_columns{.channels = 4, .out_channels = 4, .groups = 4, .merged = 2, .kernel = 3, .width = 4};
constexpr std::uint64_t most_worlds = 200; ///< kept
constexpr std::uint64_t many_worlds = 300;

} // namespace

void pack(Rule const& rule, base::ByteWriter& writer) {
    pack(rule.left, writer);
    pack(rule.right, writer);
    writer.put(static_cast<std::uint8_t>(rule.is_proved));
    writer.put(static_cast<std::uint8_t>(rule.signs.size()));
    for (auto const& [term, sign] : rule.signs) {
        writer.put(term);
        writer.put(sign);
    }
}

Rule unpack_rule(base::ByteReader& reader, Space const& space) {
    Rule out;
    out.left = unpack_graph(reader, space);
    out.right = unpack_graph(reader, space);
    out.is_proved = reader.get<std::uint8_t>() != 0;
    for (auto count = reader.get<std::uint8_t>(); count > 0; --count) {
        auto const term = reader.get<TermId>();
        auto const sign = reader.get<SignClass>();
        if (term >= space.inputs().size() || sign > SignClass::negative)
            throw base::SystemError("a packed rule speaks of something that is not a parameter");
        out.signs.emplace_back(term, sign);
    }
    return out;
}

Rule canonical(Rule const& rule, Space const& space) {
    std::optional<Rule> best;
    for (auto const& naming : space.namings()) {
        Rule one{in_order(renamed(rule.left, naming)), in_order(renamed(rule.right, naming)), rule.signs,
                 rule.is_proved};
        if (best && std::tie(best->left, best->right) <= std::tie(one.left, one.right)) continue;
        for (auto& [term, sign] : one.signs) term = naming.terms[term];
        std::ranges::sort(one.signs);
        best = std::move(one);
    }
    return *best;
}

std::string condition_text(std::vector<library::SignCondition> const& parameters) {
    std::string out;
    for (auto const& [of, is] : parameters)
        out += fmt::format("{}{} {} 0", out.empty() ? "" : ", ", of, is == library::Sign::positive ? ">" : "<");
    return out;
}

library::Rule plain(Rule const& rule, Space const& space) {
    library::Rule out{.key = {},
                      .verified = rule.is_proved ? search::Verification::proved : search::Verification::random,
                      .condition = {},
                      .inputs = plain_inputs(rule.left, rule.right, space),
                      .parameters = {},
                      .left = plain(rule.left, space),
                      .right = plain(rule.right, space)};
    for (auto const& [term, sign] : rule.signs)
        out.parameters.push_back(
            {space.term(term).name, sign == SignClass::negative ? library::Sign::negative : library::Sign::positive});
    out.condition = condition_text(out.parameters);
    auto const text = to_text(out.left) + "\n" + to_text(out.right) + "\n" + out.condition;
    out.key = fmt::format("{:016x}", base::hash_text(text));
    return out;
}

std::vector<World> const& Conditions::worlds(std::vector<SignClass> const& signs) {
    auto const known = worlds_.find(signs);
    if (known != worlds_.end()) return known->second;
    if (worlds_.size() > most_worlds) worlds_.clear();
    std::vector<World> made;
    for (std::uint64_t i = 0; i < worlds_of_signs; ++i) made.emplace_back(space_, other_shapes, seed_ + i, signs);
    return worlds_.emplace(signs, std::move(made)).first->second;
}

bool Conditions::holds_often(Graph const& a, Graph const& b, std::vector<TermId> const& positive) const {
    std::vector signs(space_.terms().size(), SignClass::any);
    for (auto const term : positive) signs[term] = SignClass::positive;
    for (std::uint64_t i = 0; i < many_worlds; ++i) {
        World const world(space_, few_columns, seed_ + worlds_of_signs + i, signs);
        if (print_in(a, world) != print_in(b, world)) return false;
    }
    return true;
}

bool Conditions::holds(Graph const& a, Graph const& b, std::vector<TermId> const& positive) {
    std::vector signs(space_.terms().size(), SignClass::any);
    for (auto const term : positive) signs[term] = SignClass::positive;
    int defined = 0;
    for (auto const& world : worlds(signs)) {
        auto const of_a = print_in(a, world);
        if (of_a != print_in(b, world)) return false;
        defined += of_a.has_value();
    }
    return defined > 1;
}

std::optional<std::vector<TermId>> Conditions::find(Graph const& a, Graph const& b) {
    std::vector<TermId> parameters;
    for (auto const id : parameters_of(a, b, space_))
        if (space_.term(id).type != Type::weights) parameters.push_back(id);
    std::vector<unsigned> subsets(std::size_t{1} << parameters.size());
    for (std::size_t i = 0; i < subsets.size(); ++i) subsets[i] = static_cast<unsigned>(i);
    std::ranges::stable_sort(subsets, {}, [](unsigned bits) { return std::popcount(bits); });
    for (auto const bits : subsets) {
        std::vector<TermId> positive;
        for (std::size_t i = 0; i < parameters.size(); ++i)
            if ((bits >> i & 1u) != 0) positive.push_back(parameters[i]);
        if (holds(a, b, positive)) return positive;
    }
    return std::nullopt;
}

std::vector<std::optional<std::uint64_t>> Conditions::signature(Graph const& graph) {
    std::vector<std::optional<std::uint64_t>> out;
    for (auto const& world : worlds(std::vector(space_.terms().size(), SignClass::any)))
        out.push_back(print_in(graph, world));
    return out;
}

} // namespace espalier::problems::substitution::affine
