#include "proof_form.hpp"

#include <algorithm>

namespace espalier::verify::proof {
namespace {

/// Makes `a` the sum of both if that is one digit.
bool absorb(Digit& a, Digit const& b) {
    if (a.variable != b.variable) return false;
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

void normalise(Form& form) {
    while (absorb_one(form)) {}
    std::erase_if(form, [](Digit const& digit) { return digit.variable == constant_variable && digit.stride == 0; });
    std::ranges::sort(form);
}

Form shifted(Form form, std::int64_t by) {
    form.push_back(constant_digit(by));
    normalise(form);
    return form;
}

std::int64_t constant_of(Form const& form) {
    auto const at = std::ranges::find(form, constant_variable, &Digit::variable);
    return at == form.end() ? 0 : at->stride;
}

std::int64_t largest_value(Form const& form) {
    std::int64_t out = 0;
    for (auto const& digit : form) out += digit.stride * (digit.size() - 1);
    return out;
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
    for (auto const& [variable, low, high, stride] : form) {
        auto const size = high / low;
        if (variable == constant_variable) {
            if (stride < 0) return std::nullopt;
            if (stride >= divisor) out.quotient.push_back({variable, low, high, stride / divisor});
            if (stride % divisor != 0) out.remainder.push_back({variable, low, high, stride % divisor});
        } else if (stride % divisor == 0) {
            out.quotient.push_back({variable, low, high, stride / divisor});
        } else if (size * stride <= divisor) {
            out.remainder.push_back({variable, low, high, stride});
        } else {
            auto const cut = divisor / stride;
            if (divisor % stride != 0 || size % cut != 0) return std::nullopt;
            out.remainder.push_back({variable, low, low * cut, stride});
            out.quotient.push_back({variable, low * cut, high, 1});
        }
    }
    if (largest_value(out.remainder) >= divisor) return std::nullopt;
    normalise(out.quotient);
    normalise(out.remainder);
    return out;
}

} // namespace espalier::verify::proof
