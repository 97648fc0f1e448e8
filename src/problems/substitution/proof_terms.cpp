#include "proof_terms.hpp"

#include <algorithm>

namespace espalier::problems::substitution::proof {
namespace {

void substitute(Sum& sum, Var from, Var to);

void substitute(Offset& offset, Var from, Var to) {
    for (auto& var : offset)
        if (var == from) var = to;
    std::erase(offset, no_var);
    std::ranges::sort(offset);
}

/// `to` may be no variable: then it is 0.
void substitute(Term& term, Var from, Var to) {
    for (auto& atom : term.atoms) {
        for (auto& along : atom.at)
            if (along.var == from) along.var = to;
        substitute(atom.row, from, to);
        substitute(atom.column, from, to);
        substitute(atom.argument, from, to);
    }
    for (auto& one : term.guards) substitute(one.at, from, to);
}
void substitute(Sum& sum, Var from, Var to) {
    for (auto& term : sum) substitute(term, from, to);
}

bool unbind(Term& term, Var var) { return std::erase(term.bound, var) > 0; }

/// One equality of indices that can be used up; false if there is none. A term that is 0 has the factor 0.
bool use_same(Term& term, Atom const& atom) {
    auto const [a, b] = atom.at;
    if (a.block != b.block) {
        term.factor = 0;
        return true;
    }
    if (a.var == b.var) return true;
    if (unbind(term, a.var)) {
        substitute(term, a.var, b.var);
        return true;
    }
    if (!unbind(term, b.var)) return false;
    substitute(term, b.var, a.var);
    return true;
}

bool use_middle(Term& term, Atom const& atom) {
    if (atom.row.empty() && atom.column.empty()) return true;
    for (auto const* offset : {&atom.row, &atom.column})
        if (offset->size() == 1 && unbind(term, offset->front())) {
            substitute(term, offset->front(), no_var);
            return false; // its remainder is looked at again
        }
    return false;
}

void use_equalities(Term& term) {
    for (std::size_t i = 0; i < term.atoms.size() && term.factor != 0;) {
        auto const atom = term.atoms[i];
        auto const before = term.bound.size();
        auto const is_used = atom.kind == Atom::Kind::same     ? use_same(term, atom)
                             : atom.kind == Atom::Kind::middle ? use_middle(term, atom)
                                                               : false;
        if (is_used) term.atoms.erase(term.atoms.begin() + static_cast<std::ptrdiff_t>(i));
        if (is_used || term.bound.size() != before)
            i = 0;
        else
            ++i;
    }
}

std::vector<Guard> implied_by(Atom const& atom);

std::vector<Guard> implied_by(Term const& term) {
    auto out = term.guards;
    for (auto const& atom : term.atoms) {
        auto const more = implied_by(atom);
        out.insert(out.end(), more.begin(), more.end());
    }
    return out;
}

/// Guards that are 1 wherever the atom is not 0.
std::vector<Guard> implied_by(Atom const& atom) {
    if (atom.kind == Atom::Kind::input && atom.is_image)
        return {{atom.support[0], atom.row}, {atom.support[1], atom.column}};
    if (atom.kind != Atom::Kind::relu || atom.argument.empty()) return {};
    auto common = implied_by(atom.argument.front());
    for (auto const& term : atom.argument) {
        auto const of_term = implied_by(term);
        std::erase_if(common, [&](Guard const& one) { return std::ranges::find(of_term, one) == of_term.end(); });
    }
    return common;
}

void drop_implied_guards(Term& term) {
    std::ranges::sort(term.guards);
    term.guards.erase(std::unique(term.guards.begin(), term.guards.end()), term.guards.end());
    std::erase_if(term.guards, [&](Guard const& one) {
        if (one.at.empty()) return true;
        return std::ranges::any_of(term.atoms, [&](Atom const& atom) {
            auto const implied = implied_by(atom);
            return std::ranges::find(implied, one) != implied.end();
        });
    });
}

} // namespace

Sum product(Sum const& a, Sum const& b) {
    Sum out;
    for (auto const& x : a)
        for (auto const& y : b) {
            auto term = x;
            term.factor *= y.factor;
            term.atoms.insert(term.atoms.end(), y.atoms.begin(), y.atoms.end());
            term.guards.insert(term.guards.end(), y.guards.begin(), y.guards.end());
            term.bound.insert(term.bound.end(), y.bound.begin(), y.bound.end());
            out.push_back(std::move(term));
        }
    return out;
}

void bind(Sum& sum, Var var) {
    for (auto& term : sum) term.bound.push_back(var);
}
void guard(Sum& sum, Guard const& one) {
    for (auto& term : sum) term.guards.push_back(one);
}
Offset plus(Offset offset, Var var) {
    offset.insert(std::ranges::upper_bound(offset, var), var);
    return offset;
}

Sum applied(Atom::Kind function, Sum argument) {
    simplify(argument);
    if (argument.empty()) return {};
    Term out;
    if (function == Atom::Kind::relu) {
        out.guards = argument.front().guards;
        for (auto const& term : argument)
            std::erase_if(out.guards, [&](Guard const& one) {
                auto const is_bound = [&](Var var) { return std::ranges::find(term.bound, var) != term.bound.end(); };
                return std::ranges::find(term.guards, one) == term.guards.end() ||
                       std::ranges::any_of(one.at, is_bound);
            });
        for (auto& term : argument)
            std::erase_if(term.guards,
                          [&](Guard const& one) { return std::ranges::find(out.guards, one) != out.guards.end(); });
    }
    out.atoms.push_back({.kind = function, .row = {}, .column = {}, .argument = std::move(argument)});
    return {out};
}

void simplify(Sum& sum) {
    for (auto& term : sum) {
        for (auto& atom : term.atoms) simplify(atom.argument);
        use_equalities(term);
        drop_implied_guards(term);
    }
    std::erase_if(sum, [](Term const& term) { return term.factor == 0; });
}

} // namespace espalier::problems::substitution::proof
