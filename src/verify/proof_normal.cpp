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
        for (auto& factor : term.factors)
            for (auto& argument : factor.arguments) run(argument);
        drop_trivial_functions(term);
        for (auto& divisor : term.divisor) run(divisor);
        take_number_out_of_divisor(term);
        settle_bound_roots(work_, term);
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
