#include "proof_sizes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace espalier::problems::substitution::proof {

Size Sizes::fresh() {
    variables_.emplace_back();
    return {Leaf{static_cast<std::int32_t>(variables_.size()) - 1}};
}

void Sizes::append(Leaf leaf, Size& out) const {
    if (leaf.is_number() || !variables_[static_cast<std::size_t>(leaf.id)].is_bound) return out.push_back(leaf);
    for (auto const part : variables_[static_cast<std::size_t>(leaf.id)].value) append(part, out);
}

Size Sizes::flat(Size const& size) const {
    Size out;
    for (auto const leaf : size) append(leaf, out);
    return out;
}

bool Sizes::bind(Leaf variable, Size const& value) {
    if (std::ranges::find(value, variable) != value.end()) return value.size() == 1;
    variables_[static_cast<std::size_t>(variable.id)] = {true, value};
    return true;
}

bool Sizes::unify_leaves(Leaf a, Leaf b) {
    if (a == b) return true;
    if (!a.is_number()) return bind(a, {b});
    return !b.is_number() && bind(b, {a});
}

bool Sizes::unify(Size const& first, Size const& second) {
    auto const a = flat(first), b = flat(second);
    if (a.size() == 1 && !a[0].is_number()) return bind(a[0], b);
    if (b.size() == 1 && !b[0].is_number()) return bind(b[0], a);
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        auto const x = flat({a[i]}), y = flat({b[i]}); // an earlier pair may have bound them
        if (x.size() != 1 || y.size() != 1) {
            if (!unify(x, y)) return false;
        } else if (!unify_leaves(x[0], y[0])) {
            return false;
        }
    }
    return true;
}

std::string Sizes::to_text(Size const& size) const {
    std::string out;
    for (auto const leaf : flat(size)) {
        auto const name = leaf.is_number() ? fmt::format("{}", -leaf.id) : fmt::format("n{}", leaf.id);
        out += (out.empty() ? "" : " + ") + name;
    }
    return out;
}

} // namespace espalier::problems::substitution::proof
