#include "espalier/base/markup.hpp"

namespace espalier::base {
namespace {

/// Nothing: the character stands for itself.
std::string_view replacement(char c) {
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    case '\t':
    case '\n':
    case '\r':
        return {};
    default:
        return static_cast<unsigned char>(c) < ' ' ? "\xEF\xBF\xBD" : std::string_view();
    }
}

} // namespace

std::string escaped(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (auto const c : text)
        if (auto const other = replacement(c); !other.empty())
            out += other;
        else
            out += c;
    return out;
}

} // namespace espalier::base
