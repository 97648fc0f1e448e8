#include "proof_form.hpp"

#include <algorithm>

namespace espalier::verify::proof {
namespace {

/// Makes `a` the sum of both if that is one digit.
bool absorb(Digit& a, Digit const& b) {
    if (a.root != b.root) return false;
    if (a.low == b.low && a.high == b.high) {
        a.stride += b.stride;
        return true;
    }
    if (b.low != a.high || b.stride != a.stride * a.size()) return false;
    a.high = b.high;
    return true;
}

bool absorb_one(Form& form) {
    for (std::size_t i = 0; i < form.size(); ++i)
        for (std::size_t j = 0; j < form.size(); ++j)
            if (i != j && absorb(form[i], form[j])) {
                form.erase(form.begin() + static_cast<std::ptrdiff_t>(j));
                return true;
            }
    return false;
}

} // namespace

std::int64_t largest_value(Form const& form) {
    std::int64_t out = 0;
    for (auto const& digit : form) out += digit.stride * (digit.size() - 1);
    return out;
}

void normalise(Form& form) {
    while (absorb_one(form)) {}
    std::ranges::sort(form);
}

Form sum(Form to, std::int64_t factor, Form const& form) {
    for (auto digit : form) {
        digit.stride *= factor;
        to.push_back(digit);
    }
    normalise(to);
    return to;
}

std::optional<Quotient> divide(Form const& form, std::int64_t divisor) {
    Quotient out;
    for (auto const& [root, low, high, stride] : form) {
        auto const size = high / low;
        if (stride % divisor == 0) {
            out.quotient.push_back({root, low, high, stride / divisor});
        } else if (size * stride <= divisor) {
            out.remainder.push_back({root, low, high, stride});
        } else {
            auto const cut = divisor / stride;
            if (divisor % stride != 0 || size % cut != 0) return std::nullopt;
            out.remainder.push_back({root, low, low * cut, stride});
            out.quotient.push_back({root, low * cut, high, 1});
        }
    }
    if (largest_value(out.remainder) >= divisor) return std::nullopt;
    normalise(out.quotient);
    normalise(out.remainder);
    return out;
}

} // namespace espalier::verify::proof
