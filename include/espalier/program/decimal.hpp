#pragma once

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace espalier::program {

/// A number as people write it: digits * 10^exponent, the shortest that reads back as the same double. That is what a
/// constant of a program means: 0.1 is a tenth, and not the nearest fraction of a power of two.
struct Decimal {
    std::int64_t digits = 0;
    int exponent = 0;
};
/// Of a finite number.
[[nodiscard]] inline Decimal decimal_of(double number) {
    char text[32];
    auto const end = std::to_chars(text, text + sizeof text, number, std::chars_format::scientific).ptr;
    Decimal out;
    auto const is_negative = text[0] == '-';
    bool is_fraction = false;
    char const* at = text + (is_negative ? 1 : 0);
    for (; *at != 'e'; ++at) {
        if (*at == '.') {
            is_fraction = true;
            continue;
        }
        out.digits = 10 * out.digits + (*at - '0');
        if (is_fraction) --out.exponent;
    }
    int exponent = 0;
    std::from_chars(at[1] == '+' ? at + 2 : at + 1, end, exponent);
    out.exponent += exponent;
    if (is_negative) out.digits = -out.digits;
    return out;
}

} // namespace espalier::program
