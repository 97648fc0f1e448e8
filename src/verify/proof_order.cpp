#include "proof_key.hpp"

#include "espalier/field/scalar.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace espalier::verify::proof {
namespace {

using Hash = std::uint64_t;

Hash combine(Hash seed, Hash value) { return field::mix((seed ^ value) + 0x9E3779B97F4A7C15ull); }
/// Of a coefficient its last 64 bits do: a hash may be equal for different terms.
Hash hash_number(Wide number) { return field::mix(static_cast<Hash>(number) + 0xD1B54A32D192ED03ull); }

/// A hash of values in which every variable has a colour; blind to the order of terms and factors and to inner bound
/// variables.
class Painter {
public:
    Painter(Workspace const& work, std::vector<std::int64_t> const& names) : work_(work) {
        for (auto const name : names) colours_.push_back(hash_number(name));
    }
    void paint(int variable, Hash colour) { colours_[static_cast<std::size_t>(variable)] = colour; }
    void paint_by_size(int variable) { paint(variable, combine(1, hash_number(work_.size(variable)))); }

    Hash hash(Term const& term) {
        Hash out = 0;
        for (auto const variable : term.bound) out += combine(2, hash_number(work_.size(variable)));
        for (auto const& factor : term.factors) out += combine(3, hash(factor));
        for (auto const& divisor : term.divisor) out += combine(4, hash(divisor));
        return out;
    }

private:
    Hash hash(Sum const& sum) {
        Hash out = 0;
        for (auto const& term : sum.terms) {
            for (auto const variable : term.bound) paint_by_size(variable);
            auto const [top, bottom] = term.coefficient;
            out += combine(combine(hash_number(top), hash_number(bottom)), hash(term));
        }
        return out;
    }
    Hash hash(Form const& form) const {
        Hash out = 0;
        for (auto const& digit : form) {
            auto const colour =
                digit.variable == constant_variable ? Hash{6} : colours_[static_cast<std::size_t>(digit.variable)];
            auto h = combine(colour, hash_number(digit.low));
            h = combine(h, hash_number(digit.high));
            out += combine(h, hash_number(digit.stride));
        }
        return out;
    }
    Hash hash(Atom const& atom) {
        auto out = combine(static_cast<Hash>(atom.kind), hash_number(atom.id));
        for (auto const& form : atom.index) out = combine(out, hash(form));
        for (auto const value : atom.attributes) out = combine(out, std::bit_cast<Hash>(value));
        for (auto const& argument : atom.arguments) out = combine(out, hash(argument));
        return out;
    }

    Workspace const& work_;
    std::vector<Hash> colours_; ///< by variable
};

/// Each variable by the hash of the term in which it alone is marked and the others have their colours so far.
std::vector<Hash> distinguish(Painter& painter, Term const& term, std::vector<Hash> const& so_far) {
    constexpr Hash mark = 5;
    std::vector<Hash> out;
    for (std::size_t i = 0; i < term.bound.size(); ++i) painter.paint(term.bound[i], so_far[i]);
    for (std::size_t i = 0; i < term.bound.size(); ++i) {
        painter.paint(term.bound[i], mark);
        out.push_back(combine(so_far[i], painter.hash(term)));
        painter.paint(term.bound[i], so_far[i]);
    }
    return out;
}

} // namespace

BoundOrders::BoundOrders(Workspace const& work, Term const& term, std::vector<std::int64_t> const& names) {
    auto const count = term.bound.size();
    if (count < 2) {
        variables_ = term.bound;
        borders_ = {count};
        return;
    }
    std::vector<Hash> colours;
    for (auto const variable : term.bound) colours.push_back(hash_number(work.size(variable)));
    Painter painter(work, names);
    for (int round = 0; round < 2; ++round) colours = distinguish(painter, term, colours);

    std::vector<std::pair<Hash, int>> sorted;
    for (std::size_t i = 0; i < count; ++i) sorted.emplace_back(colours[i], term.bound[i]);
    std::ranges::sort(sorted);
    for (std::size_t i = 0; i < count; ++i) {
        variables_.push_back(sorted[i].second);
        if (i + 1 == count || sorted[i].first != sorted[i + 1].first) borders_.push_back(i + 1);
    }
}

bool BoundOrders::next() {
    std::ptrdiff_t begin = 0;
    for (auto const border : borders_) {
        auto const end = static_cast<std::ptrdiff_t>(border);
        if (std::next_permutation(variables_.begin() + begin, variables_.begin() + end)) return true;
        begin = end;
    }
    return false;
}

} // namespace espalier::verify::proof
