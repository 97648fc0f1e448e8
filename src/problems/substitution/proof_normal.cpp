#include "proof_terms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

/// One text for all ways to name bound variables and to order terms and factors.
namespace espalier::problems::substitution::proof {
namespace {

constexpr int most_namings = 5'000; ///< of one term

using Names = std::map<Var, std::string>;

class Writer {
public:
    explicit Writer(Variables const& variables) : variables_(variables) {}

    [[nodiscard]] std::string sum(Sum const& of, Names const& names) {
        std::map<std::string, std::int64_t> factors;
        for (auto const& one : of) factors[term(one, names)] += one.factor;
        std::string out;
        for (auto const& [text, factor] : factors)
            if (factor != 0) out += fmt::format("{}{}*{}", out.empty() ? "" : "+", factor, text);
        return out.empty() ? "0" : out;
    }
    [[nodiscard]] bool has_given_up() const { return has_given_up_; }

private:
    /// The smallest text over all names of what the term binds.
    [[nodiscard]] std::string term(Term const& of, Names names) {
        auto bound = of.bound;
        std::map<Var, std::string> roles;
        for (auto const var : bound) roles[var] = role(of, var);
        std::ranges::sort(bound, {}, [&](Var const& var) { return std::tie(roles[var], var); });
        std::optional<std::string> best;
        int left = most_namings;
        name_next(of, bound, roles, 0, names, best, left);
        has_given_up_ = has_given_up_ || left <= 0;
        return best.value_or("");
    }
    /// Variables with different roles are never exchanged.
    void name_next(Term const& of, std::vector<Var>& bound, std::map<Var, std::string> const& roles, std::size_t at,
                   Names& names, std::optional<std::string>& best, int& left) {
        if (left <= 0) return;
        if (at == bound.size()) {
            --left;
            auto text = factors(of, names, roles);
            if (!best || text < *best) best = std::move(text);
            return;
        }
        for (auto i = at; i < bound.size() && roles.at(bound[i]) == roles.at(bound[at]); ++i) {
            std::swap(bound[at], bound[i]);
            names[bound[at]] = fmt::format("b{}.{}", depth_, at);
            name_next(of, bound, roles, at + 1, names, best, left);
            std::swap(bound[at], bound[i]);
        }
    }
    [[nodiscard]] std::string factors(Term const& of, Names const& names, std::map<Var, std::string> const& roles) {
        std::vector<std::string> parts;
        for (auto const& atom : of.atoms) parts.push_back(text(atom, names));
        for (auto const& one : of.guards) parts.push_back(fmt::format("G{}[{}]", one.size.id, text(one.at, names)));
        std::ranges::sort(parts);
        std::vector<std::string> kinds;
        for (auto const& [var, role] : roles) kinds.push_back(kind(var));
        std::ranges::sort(kinds);
        return fmt::format("({}|{})", fmt::join(kinds, ""), fmt::join(parts, " "));
    }
    /// Where a variable occurs, whatever the others are called.
    [[nodiscard]] std::string role(Term const& of, Var var) const {
        std::vector<std::string> parts;
        for (auto const& atom : of.atoms)
            for (std::size_t i = 0; i < 2; ++i) {
                if (atom.at[i].var == var)
                    parts.push_back(fmt::format("{}.{}.{}", static_cast<int>(atom.kind), atom.slot, i));
                auto const& offset = i == 0 ? atom.row : atom.column;
                if (std::ranges::find(offset, var) != offset.end())
                    parts.push_back(fmt::format("{}.{}+{}", static_cast<int>(atom.kind), atom.slot, offset.size()));
            }
        std::ranges::sort(parts);
        auto out = kind(var);
        for (auto const& part : parts) out += part + ",";
        return out;
    }
    [[nodiscard]] std::string kind(Var var) const {
        auto const& [which, leaf] = variables_[var];
        return which == Variable::Kind::leaf  ? fmt::format("n{};", leaf.id)
               : which == Variable::Kind::row ? "r;"
                                              : "c;";
    }
    [[nodiscard]] static std::string name(Var var, Names const& names) {
        if (var == no_var) return "-";
        auto const found = names.find(var);
        return found != names.end() ? found->second : fmt::format("v{}", var);
    }
    [[nodiscard]] static std::string text(Offset const& offset, Names const& names) {
        std::vector<std::string> parts;
        for (auto const var : offset) parts.push_back(name(var, names));
        std::ranges::sort(parts);
        return fmt::format("{}", fmt::join(parts, "+"));
    }
    [[nodiscard]] std::string text(Atom const& atom, Names const& names) {
        using enum Atom::Kind;
        auto const along = [&](std::size_t i) {
            return fmt::format("{}:{}", atom.at[i].block, name(atom.at[i].var, names));
        };
        switch (atom.kind) {
        case input:
            return fmt::format("I{}[{},{},{},{}]", atom.slot, along(0), along(1), text(atom.row, names),
                               text(atom.column, names));
        case same:
            return fmt::format("={},{}", std::min(along(0), along(1)), std::max(along(0), along(1)));
        case middle:
            return fmt::format("0[{},{}]", text(atom.row, names), text(atom.column, names));
        case relu:
        case max_pool:
            break;
        }
        ++depth_;
        auto const inner = sum(atom.argument, names);
        --depth_;
        return fmt::format("{}{{{}}}", atom.kind == relu ? "relu" : "max", inner);
    }

    Variables const& variables_;
    int depth_ = 0;
    bool has_given_up_ = false;
};

} // namespace

std::string normal_text(Sum const& sum, Variables const& variables) {
    Writer writer(variables);
    auto const text = writer.sum(sum, {});
    return writer.has_given_up() ? "" : text;
}

} // namespace espalier::problems::substitution::proof
