#include "proof_domain.hpp"

#include "proof_bound.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace espalier::verify::proof {
namespace {

/// Variables of the indices in a value, and those of them that it binds.
struct Variables {
    std::set<int> used;
    std::set<int> bound;

    void collect(Sum const& sum) {
        for (auto const& term : sum.terms) {
            bound.insert(term.bound.begin(), term.bound.end());
            for (auto const& factor : term.factors) collect(factor);
            for (auto const& divisor : term.divisor) collect(divisor);
        }
    }
    void collect(Atom const& atom) {
        for (auto const& form : atom.index)
            for (auto const& digit : form)
                if (digit.variable != constant_variable) used.insert(digit.variable);
        for (auto const& argument : atom.arguments) collect(argument);
    }
};

Sum negative(Sum sum) {
    scale(sum, {-1, 1});
    return sum;
}

/// Of the op whose function an atom is, from the numbers that tell functions apart.
program::Attributes attributes_of(Atom const& atom) {
    program::Attributes out;
    for (auto at = atom.attributes.begin(); at != atom.attributes.end();) {
        auto const name = static_cast<program::AttributeName>(*at++);
        auto const count = static_cast<std::ptrdiff_t>(*at++);
        out = out.with(name, std::vector<double>(at, at + count));
        at += count;
    }
    return out;
}

/// A product that is 0 exactly if one of its factors is: nothing is summed.
bool is_product(Sum const& sum) { return sum.terms.size() == 1 && sum.terms[0].bound.empty(); }

} // namespace

Key Domain::key_of(Sum value) {
    if (!value.terms.empty()) scale(value, inverse(content(value)));
    Variables variables;
    variables.collect(value);
    Atom atom{.kind = Atom::Kind::function, .id = -1, .index = {}, .attributes = {}, .arguments = {}};
    atom.arguments.push_back(std::move(value));
    Term all{.coefficient = {}, .bound = {}, .factors = {std::move(atom)}, .divisor = {}};
    auto const is_free = [&](int variable) {
        return variables.used.contains(variable) && !variables.bound.contains(variable);
    };
    for (auto const& guard : work_.guards()) // elements past the end of a tile are not asked for
        if (is_free(guard.variable)) all.factors.push_back(inside(guard));
    for (auto const& factor : all.factors) variables.collect(factor);
    for (auto const variable : variables.used)
        if (variable >= free_count_ && !variables.bound.contains(variable)) all.bound.push_back(variable);
    settle_bound_variables(work_, all);
    return KeyWriter(work_, free_count_).write(all);
}

void Domain::add_nonzero(Sum const& value, Facts& facts) {
    facts.nonzero.insert(key_of(value));
    facts.nonzero.insert(key_of(negative(value)));
    if (!is_product(value)) return;
    for (auto const& factor : value.terms[0].factors)
        if (factor.kind == Atom::Kind::sqrt)
            add_nonzero(factor.arguments[0], facts);
        else
            facts.nonzero.insert(key_of(to_sum(factor)));
}

Facts Domain::facts(std::vector<Condition> const& conditions) {
    Facts out;
    for (auto const& [kind, value] : conditions) {
        if (kind == Condition::Kind::nonzero) add_nonzero(value, out);
        if (kind == Condition::Kind::nonnegative) out.nonnegative.insert(key_of(value));
        if (kind == Condition::Kind::defined) out.defined.insert(key_of(value));
    }
    return out;
}

bool Domain::follows(Condition const& condition, Facts const& facts) {
    auto const& value = condition.value;
    switch (condition.kind) {
    case Condition::Kind::nonzero:
        return is_nonzero(value, facts);
    case Condition::Kind::nonnegative:
        return sign_of(value, facts) != Sign::any || facts.nonnegative.contains(key_of(value));
    case Condition::Kind::defined:
        return facts.defined.contains(key_of(value));
    }
    return false;
}

bool Domain::is_nonzero(Sum const& value, Facts const& facts) {
    work_.spend();
    if (value.terms.empty()) return false;
    if (sign_of(value, facts) == Sign::positive || facts.nonzero.contains(key_of(value))) return true;
    return is_product(value) && std::ranges::all_of(value.terms[0].factors, [&](Atom const& factor) {
               if (factor.kind == Atom::Kind::sqrt) return is_nonzero(factor.arguments[0], facts);
               return factor.kind == Atom::Kind::exp || knows(factor, facts, &Facts::nonzero);
           });
}

bool Domain::knows(Atom const& atom, Facts const& facts, Known known) {
    return !(facts.*known).empty() && (facts.*known).contains(key_of(to_sum(atom)));
}

Sign Domain::sign_of(Sum const& sum, Facts const& facts) {
    auto out = Sign::nonnegative;
    for (auto const& term : sum.terms) out = total(out, sign_of(term, facts));
    return out;
}

Sign Domain::sign_of(Term const& term, Facts const& facts) {
    work_.spend();
    if (term.coefficient.top < 0) return Sign::any;
    KeyWriter writer(work_, 0);
    std::map<Key, std::vector<Atom const*>> powers; // equal factors
    for (auto const& factor : term.factors) powers[writer.write(to_sum(factor))].push_back(&factor);
    auto out = Sign::positive;
    for (auto const& [key, factors] : powers) {
        auto const is_even = factors.size() % 2 == 0;
        auto const& factor = *factors[0];
        auto const sign = sign_of(factor, facts);
        out = product(out, is_even && sign == Sign::any ? Sign::nonnegative : sign);
    }
    for (auto const& divisor : term.divisor)
        if (sign_of(divisor, facts) == Sign::any) return Sign::any;
    return out;
}

/// The largest is at least every option, the smallest is one of them.
Sign Domain::sign_of_extremum(Atom const& atom, Facts const& facts) {
    auto const is_largest = atom.id == static_cast<int>(program::OpCode::max);
    auto out = is_largest ? Sign::any : Sign::positive;
    for (auto const& option : atom.arguments[0].terms) {
        auto const sign = sign_of(option.factors[0], facts);
        out = is_largest ? std::max(out, sign) : std::min(out, sign);
    }
    return out;
}

Sign Domain::sign_of(Atom const& atom, Facts const& facts) {
    if (atom.kind == Atom::Kind::exp) return Sign::positive;
    if (atom.kind == Atom::Kind::sqrt)
        return sign_of(atom.arguments[0], facts) == Sign::positive ? Sign::positive : Sign::nonnegative;
    if (atom.kind == Atom::Kind::inside) return Sign::nonnegative;
    if (atom.kind == Atom::Kind::option) return sign_of(atom.arguments[0], facts);
    auto out = Sign::any;
    if (atom.kind == Atom::Kind::extremum) out = sign_of_extremum(atom, facts);
    if (atom.kind == Atom::Kind::function) {
        std::vector<Sign> signs;
        for (auto const& argument : atom.arguments) signs.push_back(sign_of(argument, facts));
        out = program::info(static_cast<program::OpCode>(atom.id)).sign(signs, attributes_of(atom));
    }
    if (out == Sign::any && knows(atom, facts, &Facts::nonnegative)) out = Sign::nonnegative;
    if (out == Sign::nonnegative && knows(atom, facts, &Facts::nonzero)) out = Sign::positive;
    return out;
}

} // namespace espalier::verify::proof
