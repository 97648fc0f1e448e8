#include "html.hpp"

#include "espalier/base/contract.hpp"
#include "espalier/base/units.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace espalier::analysis::report {

namespace {

/// `1e-09` -> `1e-9`.
std::string short_exponent(std::string text) {
    auto const sign = text.find('e') + 1;
    auto const digits = std::min(text.find_first_not_of('0', sign + 1), text.size() - 1);
    text.erase(sign + 1, digits - sign - 1);
    return text[sign] == '+' ? text.erase(sign, 1) : text;
}

} // namespace

std::string script_json(base::Json const& value) {
    auto const text = value.dump(-1, ' ', false, base::Json::error_handler_t::replace);
    std::string out;
    out.reserve(text.size());
    for (auto const c : text) // in JSON a `<` is only found in strings, where it may be written like this
        if (c == '<')
            out += "\\u003c";
        else
            out += c;
    return out;
}

std::string base64(std::span<std::uint8_t const> bytes) {
    constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        auto const count = std::min<std::size_t>(3, bytes.size() - i);
        std::uint32_t group = 0;
        for (std::size_t k = 0; k < 3; ++k) group = group << 8 | (k < count ? bytes[i + k] : 0u);
        for (std::size_t k = 0; k < 4; ++k) out += k <= count ? digits[group >> (18 - 6 * k) & 63] : '=';
    }
    return out;
}

std::string base64(std::string_view text) {
    return base64(std::span(reinterpret_cast<std::uint8_t const*>(text.data()), text.size()));
}

std::string filled(std::string_view text, Parts const& parts) {
    std::string out;
    for (;;) {
        auto const from = text.find("{{");
        out += text.substr(0, from);
        if (from == std::string_view::npos) return out;
        auto const to = text.find("}}", from);
        ESP_ASSERT(to != std::string_view::npos);
        auto const name = text.substr(from + 2, to - from - 2);
        auto const part = std::ranges::find(parts, name, &Parts::value_type::first);
        ESP_ASSERT(part != parts.end());
        out += part->second;
        text.remove_prefix(to + 2);
    }
}

std::string number_text(double value) {
    auto const size = std::abs(value);
    if (value == 0) return "0";
    if (!std::isfinite(value)) return fmt::format("{}", value);
    if (size < 1e-4 || size >= 1e15) return short_exponent(fmt::format("{:.4g}", value));
    auto const decimals = std::max(1, 4 - static_cast<int>(std::floor(std::log10(size))));
    auto const text = fmt::format("{:.{}f}", size, decimals);
    auto const point = text.find('.');
    auto fraction = text.substr(point);
    fraction.resize(fraction.find_last_not_of("0.") + 1);
    return (value < 0 ? "-" : "") + base::grouped(std::stoull(text.substr(0, point))) + fraction;
}

Cell cell_of(base::Json const& value) {
    if (value.is_null()) return {"", "", false};
    if (value.is_boolean()) return {value.get<bool>() ? "yes" : "no", "", false};
    if (value.is_number_integer() && value >= 0) {
        auto const number = value.get<std::uint64_t>();
        return {base::grouped(number), std::to_string(number), true};
    }
    if (value.is_number()) {
        auto const number = value.get<double>();
        return {number_text(number), fmt::format("{}", number), true};
    }
    if (value.is_string()) return {escaped(value.get_ref<std::string const&>()), "", false};
    return {escaped(value.dump(-1, ' ', false, base::Json::error_handler_t::replace)), "", false};
}

std::string table_row(std::vector<Cell> const& cells) {
    std::string out = "<tr>";
    for (auto const& cell : cells) {
        out += cell.is_number ? "<td class=\"number\"" : "<td";
        if (!cell.value.empty()) out += fmt::format(" data-value=\"{}\"", escaped(cell.value));
        out += fmt::format(">{}</td>", cell.html);
    }
    return out + "</tr>\n";
}

} // namespace espalier::analysis::report
