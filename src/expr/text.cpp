#include "text.hpp"

#include <fmt/format.h>

namespace espalier::expr {
namespace {

std::string name_of_leaf(int index) {
    if (index < program::constant_minus_one) return fmt::format("x{}", index);
    if (index == program::constant_minus_one) return "(-1)";
    return fmt::format("c{}", index - program::constant_minus_one);
}

std::string name_of_symbol(int index, std::span<std::string const> names) {
    auto const i = static_cast<std::size_t>(index);
    return i < names.size() ? names[i] : fmt::format("s{}", index);
}

/// Writes one expression; the members call each other.
struct Writer {
    Store const& store;
    std::span<std::string const> names;

    [[nodiscard]] std::string call(Atom const& atom) const {
        std::vector<std::string> parts;
        if (!atom.size.is_unit()) parts.push_back(text_of(atom.size, names));
        for (auto const argument : atom.arguments) parts.push_back(expression(argument));
        return fmt::format("{}({})", program::function_name(atom.function), fmt::join(parts, ", "));
    }
    [[nodiscard]] std::string factors(Mono const& mono) const {
        std::vector<std::string> parts;
        for (auto const id : mono.atoms)
            parts.push_back(store[id].is_leaf() ? name_of_leaf(store[id].leaf) : call(store[id]));
        if (mono.exponent != zero) parts.push_back(fmt::format("exp({})", expression(mono.exponent)));
        if (mono.root != one) parts.push_back(fmt::format("sqrt({})", expression(mono.root)));
        return parts.empty() ? "1" : fmt::format("{}", fmt::join(parts, "*"));
    }
    [[nodiscard]] std::string monomial(MonoId id) const {
        auto const mono = store[id];
        auto above = factors(mono);
        if (!mono.size.is_unit()) above = fmt::format("sum({}, {})", text_of(mono.size, names), above);
        return mono.below == one ? above : fmt::format("{}/{}", above, denominator(mono.below));
    }
    /// Without parentheses if it is one atom.
    [[nodiscard]] std::string denominator(ExprId e) const {
        auto const text = expression(e);
        auto const mono = store[store[e][0]];
        auto const factor_count = mono.atoms.size() + (mono.exponent != zero) + (mono.root != one);
        auto const is_simple = store[e].size() == 1 && mono.below == one && (factor_count == 1 || !mono.size.is_unit());
        return is_simple ? text : fmt::format("({})", text);
    }
    [[nodiscard]] std::string expression(ExprId e) const {
        std::vector<std::string> terms;
        for (auto const id : store[e]) terms.push_back(monomial(id));
        return fmt::format("{}", fmt::join(terms, " + "));
    }
};

} // namespace

std::string text_of(Word const& word, std::span<std::string const> symbol_names) {
    std::vector<std::string> above, below;
    for (int s = 0; s < Word::max_symbols; ++s) {
        for (int n = word.exponent(s); n > 0; --n) above.push_back(name_of_symbol(s, symbol_names));
        for (int n = word.exponent(s); n < 0; ++n) below.push_back(name_of_symbol(s, symbol_names));
    }
    auto const numerator = above.empty() ? "1" : fmt::format("{}", fmt::join(above, "*"));
    if (below.empty()) return numerator;
    auto const denominator = fmt::format("{}", fmt::join(below, "*"));
    return below.size() == 1 ? numerator + "/" + denominator : fmt::format("{}/({})", numerator, denominator);
}

std::string text_of(Store const& store, ExprId e, std::span<std::string const> symbol_names) {
    if (e == too_large) return "(too large)";
    return Writer{store, symbol_names}.expression(e);
}

} // namespace espalier::expr
