#include "proof_bound.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <utility>

namespace espalier::verify::proof {
namespace {

void collect_forms(Sum& sum, std::vector<Form*>& out);
/// All that variables bound by a term can occur in: factors and divisor, at any depth.
void collect_forms(Term& term, std::vector<Form*>& out) {
    for (auto& factor : term.factors) {
        for (auto& form : factor.index)
            if (!form.empty()) out.push_back(&form);
        for (auto& argument : factor.arguments) collect_forms(argument, out);
    }
    for (auto& divisor : term.divisor) collect_forms(divisor, out);
}
void collect_forms(Sum& sum, std::vector<Form*>& out) {
    for (auto& term : sum.terms) collect_forms(term, out);
}

Digit const* find_digit(Form const& form, int variable) {
    auto const at = std::ranges::find(form, variable, &Digit::variable);
    return at == form.end() ? nullptr : &*at;
}

class Settlement {
public:
    Settlement(Workspace& work, Term& term) : work_(work), term_(term) {
        collect_forms(term, forms_);
        work_.spend(static_cast<std::int64_t>(forms_.size() * term.bound.size()));
    }
    void run() {
        for (auto const variable : std::exchange(term_.bound, {})) settle(variable);
        while (join_a_pair() || drop_a_guard()) {}
    }

private:
    /// Where the digits of a variable begin and end.
    [[nodiscard]] std::set<std::int64_t> borders_of(int variable) const {
        std::set<std::int64_t> out;
        for (auto const* form : forms_)
            for (auto const& digit : *form)
                if (digit.variable == variable) out.insert({digit.low, digit.high});
        return out;
    }
    void settle(int variable) {
        auto borders = borders_of(variable);
        if (borders.empty()) {
            term_.coefficient = term_.coefficient * Fraction{work_.size(variable), 1};
            return;
        }
        borders.insert({1, work_.size(variable)});
        std::vector<std::int64_t> const cuts(borders.begin(), borders.end());
        auto const divides = [](std::int64_t low, std::int64_t high) { return high % low == 0; };
        auto const is_chain = std::ranges::adjacent_find(cuts, std::not_fn(divides)) == cuts.end();
        auto const is_within = cuts.back() == work_.size(variable); // no digit counts tiles past the end
        // Digits that overlap in part stay digits of one variable, which is less but not wrong.
        if (cuts.size() > 2 && is_chain && is_within)
            cut(variable, cuts);
        else
            term_.bound.push_back(variable);
    }
    /// The sum over a variable as the sums over its digits between `cuts`.
    void cut(int variable, std::vector<std::int64_t> const& cuts) {
        std::vector<int> parts;
        for (std::size_t i = 0; i + 1 < cuts.size(); ++i) parts.push_back(work_.new_variable(cuts[i + 1] / cuts[i]));
        for (auto* form : forms_) {
            Form out;
            for (auto const& digit : *form) {
                if (digit.variable != variable) out.push_back(digit);
                for (std::size_t i = 0; digit.variable == variable && i < parts.size(); ++i)
                    if (digit.low <= cuts[i] && cuts[i + 1] <= digit.high)
                        out.push_back({parts[i], 1, cuts[i + 1] / cuts[i], digit.stride * (cuts[i] / digit.low)});
            }
            normalise(out);
            *form = std::move(out);
        }
        for (auto const part : parts) keep_or_count(part);
    }
    void keep_or_count(int variable) {
        if (borders_of(variable).empty())
            term_.coefficient = term_.coefficient * Fraction{work_.size(variable), 1};
        else
            term_.bound.push_back(variable);
    }
    bool join_a_pair() {
        work_.spend();
        for (auto const high : term_.bound)
            for (auto const low : term_.bound)
                if (high != low && stand_together(high, low)) {
                    join(high, low);
                    return true;
                }
        return false;
    }
    /// Whether the variables occur only as stride * (size(low) * high + low).
    [[nodiscard]] bool stand_together(int high, int low) const {
        return std::ranges::all_of(forms_, [&](Form const* form) {
            auto const *a = find_digit(*form, high), *b = find_digit(*form, low);
            if (!a && !b) return true;
            return a && b && is_whole(*a) && is_whole(*b) && a->stride == b->stride * b->size() && has_one(*form, *a) &&
                   has_one(*form, *b);
        });
    }
    [[nodiscard]] bool is_whole(Digit const& digit) const {
        return digit.low == 1 && digit.high == work_.size(digit.variable);
    }
    static bool has_one(Form const& form, Digit const& digit) {
        return std::ranges::count(form, digit.variable, &Digit::variable) == 1;
    }
    void join(int high, int low) {
        auto const size = work_.size(high) * work_.size(low);
        auto const variable = work_.new_variable(size);
        for (auto* form : forms_) {
            auto const* digit = find_digit(*form, low);
            if (!digit) continue;
            Digit const joined{variable, 1, size, digit->stride};
            std::erase_if(*form, [&](Digit const& one) { return one.variable == high || one.variable == low; });
            form->push_back(joined);
            normalise(*form);
        }
        std::erase_if(term_.bound, [&](int one) { return one == high || one == low; });
        term_.bound.push_back(variable);
    }

    /// A sum over a whole variable of terms that are inside becomes one over a smaller variable, where all its values
    /// are inside.
    bool drop_a_guard() {
        for (auto const& factor : term_.factors) {
            if (factor.kind != Atom::Kind::inside) continue;
            auto const form = factor.index[0];
            auto const size = static_cast<std::int64_t>(factor.attributes[0]);
            auto const is_always = largest_value(form) < size;
            if (!is_always && !(is_whole_bound(form) && is_only_whole(form[0].variable))) continue;
            term_.factors.erase(term_.factors.begin() + (&factor - term_.factors.data()));
            forms_.clear();
            collect_forms(term_, forms_);
            if (!is_always) shorten(form[0].variable, size);
            return true;
        }
        return false;
    }
    [[nodiscard]] bool is_whole_bound(Form const& form) const {
        return form.size() == 1 && form[0].stride == 1 && is_whole(form[0]) &&
               std::ranges::count(term_.bound, form[0].variable) == 1;
    }
    [[nodiscard]] bool is_only_whole(int variable) const {
        return std::ranges::all_of(forms_, [&](Form const* form) {
            return std::ranges::all_of(
                *form, [&](Digit const& digit) { return digit.variable != variable || is_whole(digit); });
        });
    }
    /// To its first values.
    void shorten(int variable, std::int64_t size) {
        auto const shorter = work_.new_variable(size);
        for (auto* form : forms_) {
            for (auto& digit : *form)
                if (digit.variable == variable) digit = {shorter, 1, size, digit.stride};
            normalise(*form);
        }
        std::erase(term_.bound, variable);
        keep_or_count(shorter);
    }

    Workspace& work_;
    Term& term_;
    std::vector<Form*> forms_; ///< of the term
};

} // namespace

void settle_bound_variables(Workspace& work, Term& term) {
    if (!term.bound.empty()) Settlement(work, term).run();
}

} // namespace espalier::verify::proof
