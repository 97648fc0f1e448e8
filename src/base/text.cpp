#include "espalier/base/text.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace espalier::base {
namespace {

std::uint8_t byte_at(std::string_view text, std::size_t i) { return static_cast<std::uint8_t>(text[i]); }

/// What a lead byte announces: the length, and the range of the second byte, which excludes overlong forms, surrogates
/// and what is above U+10FFFF.
struct Form {
    std::uint8_t first, last;
    std::size_t length;
    std::uint8_t low = 0x80, high = 0xBF;
};
constexpr std::array forms{Form{0x00, 0x7F, 1},
                           Form{0xC2, 0xDF, 2},
                           Form{0xE0, 0xE0, 3, 0xA0},
                           Form{0xE1, 0xEC, 3},
                           Form{0xED, 0xED, 3, 0x80, 0x9F},
                           Form{0xEE, 0xEF, 3},
                           Form{0xF0, 0xF0, 4, 0x90},
                           Form{0xF1, 0xF3, 4},
                           Form{0xF4, 0xF4, 4, 0x80, 0x8F}};

bool continues(std::string_view text, Form const& form) {
    if (text.size() < form.length) return false;
    if (form.length > 1 && (byte_at(text, 1) < form.low || byte_at(text, 1) > form.high)) return false;
    for (std::size_t i = 2; i < form.length; ++i)
        if ((byte_at(text, i) & 0xC0) != 0x80) return false;
    return true;
}

/// Of a well-formed character.
std::uint32_t code_point(std::string_view character) {
    if (character.size() == 1) return byte_at(character, 0);
    std::uint32_t code = byte_at(character, 0) & (0xFFu >> (character.size() + 1));
    for (std::size_t i = 1; i < character.size(); ++i) code = code << 6 | (byte_at(character, i) & 0x3Fu);
    return code;
}

bool is_harmless(std::uint32_t code) {
    if (code == '\n' || code == '\t') return true;
    auto const is_control = code < 0x20 || (code >= 0x7F && code < 0xA0);
    auto const is_line_end = code == 0x2028 || code == 0x2029;
    auto const turns = code == 0x061C || code == 0x200E || code == 0x200F || (code >= 0x202A && code <= 0x202E) ||
                       (code >= 0x2066 && code <= 0x2069);
    return !is_control && !is_line_end && !turns;
}

std::string shown(std::string_view character) {
    auto const code = code_point(character);
    if (is_harmless(code)) return std::string(character);
    return code < 0x80 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{:04x}", code);
}

} // namespace

std::size_t utf8_length(std::string_view text) {
    auto const lead = byte_at(text, 0);
    auto const form = std::ranges::find_if(forms, [&](Form const& f) { return f.first <= lead && lead <= f.last; });
    return form != forms.end() && continues(text, *form) ? form->length : 0;
}

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        auto const length = utf8_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

std::string printable(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        auto const length = utf8_length(text);
        out += length > 0 ? shown(text.substr(0, length)) : fmt::format("\\x{:02x}", byte_at(text, 0));
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return out;
}

} // namespace espalier::base
