#include "proof_normal.hpp"

#include "proof_bound.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace espalier::verify::proof {
namespace {

bool is_number(Term const& term) { return term.bound.empty() && term.factors.empty() && term.divisor.empty(); }

class Normaliser {
public:
    explicit Normaliser(Workspace& work) : work_(work) {}

    void run(Sum& sum) const {
        for (auto& term : sum.terms) run(term);
        std::erase_if(sum.terms, [](Term const& term) { return term.coefficient.top == 0; });
        if (sum.terms.size() > 1) add_like(sum);
    }

private:
    void run(Term& term) const {
        work_.spend();
        for (auto& factor : term.factors) run(factor);
        drop_trivial_functions(term);
        for (auto& divisor : term.divisor) run(divisor);
        take_number_out_of_divisor(term);
        if (!term.divisor.empty()) take_exponent_out_of_divisor(term);
        settle_bound_variables(work_, term);
    }
    void run(Atom& atom) const {
        for (auto& argument : atom.arguments) run(argument);
        if (atom.kind != Atom::Kind::extremum) return;
        auto& options = atom.arguments[0];
        count_once(options);
        if (!flatten(atom.id, options)) return;
        run(options);
        count_once(options);
    }
    static void count_once(Sum& options) {
        for (auto& option : options.terms) option.coefficient = {};
    }
    /// Options of options of the same kind are options; whether there were any.
    static bool flatten(int kind, Sum& options) {
        Sum out;
        bool has_any = false;
        for (auto& option : options.terms) {
            auto const* const inner = only_extremum(option.factors[0].arguments[0]);
            if (!inner || inner->id != kind) {
                out.terms.push_back(std::move(option));
                continue;
            }
            has_any = true;
            for (auto next : inner->arguments[0].terms) {
                next.bound.insert(next.bound.end(), option.bound.begin(), option.bound.end());
                next.factors.insert(next.factors.end(), option.factors.begin() + 1, option.factors.end());
                out.terms.push_back(std::move(next));
            }
        }
        options = std::move(out);
        return has_any;
    }
    static Atom const* only_extremum(Sum const& value) {
        if (value.terms.size() != 1) return nullptr;
        auto const& term = value.terms[0];
        auto const is_atom = term.coefficient == Fraction{} && term.bound.empty() && term.divisor.empty() &&
                             term.factors.size() == 1 && term.factors[0].kind == Atom::Kind::extremum;
        return is_atom ? &term.factors[0] : nullptr;
    }

    /// The common part of the exponents of all terms of the divisor.
    void take_exponent_out_of_divisor(Term& term) const {
        auto common = common_exponent(term.divisor[0]);
        if (common.terms.empty()) return;
        for (auto& part : term.divisor[0].terms) {
            remove(common, *exponent_of(part));
            drop_trivial_functions(part);
        }
        scale(common, {-1, 1});
        if (auto* const own = exponent_of(term)) {
            add(*own, std::move(common));
            run(*own);
            drop_trivial_functions(term);
        } else {
            term.factors.push_back(std::move(call(Atom::Kind::exp, std::move(common)).terms[0].factors[0]));
        }
        run(term.divisor[0]);
        take_number_out_of_divisor(term);
    }
    static Sum* exponent_of(Term& term) {
        auto const at = std::ranges::find(term.factors, Atom::Kind::exp, &Atom::kind);
        return at == term.factors.end() ? nullptr : &at->arguments[0];
    }
    [[nodiscard]] Sum common_exponent(Sum& divisor) const {
        Sum out;
        auto const* const first = exponent_of(divisor.terms[0]);
        if (!first) return out;
        for (auto const& part : first->terms) {
            auto const is_there = [&](Term& other) {
                auto const* const exponent = exponent_of(other);
                return exponent && find(part, *exponent) != exponent->terms.end();
            };
            auto const is_bound = [&](Term const& other) { return uses_any(part, other.bound); };
            if (std::ranges::all_of(divisor.terms, is_there) && std::ranges::none_of(divisor.terms, is_bound))
                out.terms.push_back(part);
        }
        return out;
    }
    [[nodiscard]] std::vector<Term>::const_iterator find(Term const& part, Sum const& in) const {
        KeyWriter writer(work_, 0);
        auto const key = writer.write(part);
        return std::ranges::find_if(in.terms, [&](Term const& term) {
            return term.coefficient == part.coefficient && writer.write(term) == key;
        });
    }
    void remove(Sum const& parts, Sum& from) const {
        for (auto const& part : parts.terms) from.terms.erase(find(part, from));
    }
    static bool uses_any(Term const& term, std::vector<int> const& variables) {
        auto const in_sum = [&](Sum const& sum) {
            return std::ranges::any_of(sum.terms, [&](Term const& one) { return uses_any(one, variables); });
        };
        auto const in_form = [&](Form const& form) {
            return std::ranges::any_of(
                form, [&](Digit const& digit) { return std::ranges::count(variables, digit.variable) > 0; });
        };
        return std::ranges::any_of(term.divisor, in_sum) || std::ranges::any_of(term.factors, [&](Atom const& atom) {
                   return std::ranges::any_of(atom.index, in_form) || std::ranges::any_of(atom.arguments, in_sum);
               });
    }
    static void drop_trivial_functions(Term& term) {
        auto const is_of_zero = [](Atom::Kind kind) {
            return [kind](Atom const& atom) { return atom.kind == kind && atom.arguments[0].terms.empty(); };
        };
        std::erase_if(term.factors, is_of_zero(Atom::Kind::exp));
        if (std::ranges::any_of(term.factors, is_of_zero(Atom::Kind::sqrt))) term.coefficient = {0, 1};
    }
    static void take_number_out_of_divisor(Term& term) {
        if (term.divisor.empty()) return;
        auto& terms = term.divisor[0].terms;
        if (terms.empty()) throw Unprovable{"a division by zero"};
        if (terms.size() > 1) return;
        term.coefficient = term.coefficient * inverse(std::exchange(terms[0].coefficient, {}));
        if (is_number(terms[0])) term.divisor.clear();
    }
    void add_like(Sum& sum) const {
        KeyWriter writer(work_, 0);
        std::map<Key, Term> terms;
        for (auto& term : sum.terms) {
            auto const coefficient = term.coefficient;
            auto const [at, is_new] = terms.try_emplace(writer.write(term), std::move(term));
            if (!is_new) at->second.coefficient = at->second.coefficient + coefficient;
        }
        sum.terms.clear();
        for (auto& [key, term] : terms)
            if (term.coefficient.top != 0) sum.terms.push_back(std::move(term));
    }

    Workspace& work_;
};

} // namespace

Sum normal_form(Workspace& work, Sum sum) {
    Normaliser(work).run(sum);
    return sum;
}

} // namespace espalier::verify::proof
