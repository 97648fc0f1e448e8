#include "affine_proof.hpp"

#include "affine_cases.hpp"
#include "affine_elements.hpp"

#include "espalier/base/error.hpp"

namespace espalier::problems::substitution::affine {
namespace {

constexpr int most_decisions = 12;

/// One direction: that the second side has a meaning where the first has, and equals it there.
class CaseProof {
public:
    explicit CaseProof(library::Rule const& rule, library::Graph const& first, library::Graph const& second)
        : rule_(rule), first_(first), second_(second) {}

    [[nodiscard]] bool holds(Cases const& cases, int decided = 0) {
        auto now = cases;
        Elements of_first(rule_, first_, variables_, now), of_second(rule_, second_, variables_, now);
        auto const a = of_first.output();
        if (of_first.has_no_meaning()) return true;
        auto const b = a ? of_second.output() : std::nullopt;
        if (a && b && a->equals(*b)) return true;
        return now.open() ? holds_for_both_signs(now, decided) : !now.may_be();
    }

private:
    [[nodiscard]] bool holds_for_both_signs(Cases const& now, int decided) {
        if (decided == most_decisions) return false;
        for (auto const sign : {1, -1}) {
            auto next = now;
            next.decide(*now.open(), sign);
            if (next.may_be() && !holds(next, decided + 1)) return false;
        }
        return true;
    }

    library::Rule const& rule_;
    library::Graph const &first_, &second_;
    Variables variables_;
};

Cases cases_of(library::Rule const& rule) {
    Cases out;
    for (auto const& [of, is] : rule.parameters) out.know(of, is == library::Sign::positive ? 1 : -1);
    return out;
}

} // namespace

bool prove(library::Rule const& rule) {
    if (rule.left.outputs.size() != 1 || rule.right.outputs.size() != 1) return false;
    try {
        return CaseProof(rule, rule.left, rule.right).holds(cases_of(rule)) &&
               CaseProof(rule, rule.right, rule.left).holds(cases_of(rule));
    } catch (TooLarge) { // beyond the polynomials that are kept
        return false;
    }
}

} // namespace espalier::problems::substitution::affine
