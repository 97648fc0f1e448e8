#include "html.hpp"

#include "espalier/base/contract.hpp"
#include "espalier/base/units.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace espalier::analysis::report {

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

Cell cell_of(base::Json const& value) {
    if (value.is_null()) return {"", "", false};
    if (value.is_boolean()) return {value.get<bool>() ? "yes" : "no", "", false};
    if (value.is_number_integer() && value >= 0) {
        auto const number = value.get<std::uint64_t>();
        return {base::grouped(number), std::to_string(number), true};
    }
    if (value.is_number()) {
        auto const number = value.get<double>();
        return {fmt::format("{:.5g}", number), fmt::format("{}", number), true};
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
