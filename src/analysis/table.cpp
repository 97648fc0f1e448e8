#include "espalier/analysis/table.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/suggest.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace espalier::analysis {
namespace {

using Cell = Table::Cell;

bool is_text(Cell const& cell) { return std::holds_alternative<std::string>(cell); }

/// For people: four digits are enough. What is not known is `-`, in CSV nothing and in JSON null.
std::string short_text(Cell const& cell) {
    if (auto const* text = std::get_if<std::string>(&cell)) return *text;
    if (auto const* whole = std::get_if<std::uint64_t>(&cell)) return fmt::format("{}", *whole);
    auto const value = std::get<double>(cell);
    if (std::isnan(value)) return "-";
    return value != 0 && std::abs(value) < 0.01 ? fmt::format("{:.2e}", value) : fmt::format("{:.3f}", value);
}
std::string exact_text(Cell const& cell) {
    if (auto const* text = std::get_if<std::string>(&cell)) return *text;
    if (auto const* whole = std::get_if<std::uint64_t>(&cell)) return fmt::format("{}", *whole);
    auto const value = std::get<double>(cell);
    return std::isnan(value) ? std::string() : fmt::format("{:.9g}", value);
}

std::string csv_field(std::string const& text) {
    if (text.find_first_of(",\"\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (auto const c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + "\"";
}

std::string csv(Table const& table) {
    auto text = fmt::format("{}\n", fmt::join(table.columns, ","));
    for (auto const& row : table.rows)
        for (std::size_t i = 0; i < row.size(); ++i)
            text += csv_field(exact_text(row[i])) + (i + 1 < row.size() ? "," : "\n");
    return text;
}

std::string markdown(Table const& table) {
    auto text = fmt::format("| {} |\n|", fmt::join(table.columns, " | "));
    for (std::size_t i = 0; i < table.columns.size(); ++i)
        text += !table.rows.empty() && !is_text(table.rows.front()[i]) ? " ---: |" : " --- |";
    text += "\n";
    for (auto const& row : table.rows) {
        text += "|";
        for (auto const& cell : row) text += " " + short_text(cell) + " |";
        text += "\n";
    }
    return text;
}

std::string json(Table const& table) {
    auto list = base::Json::array();
    for (auto const& row : table.rows) {
        auto object = base::Json::object();
        for (std::size_t i = 0; i < row.size(); ++i)
            std::visit([&](auto const& value) { object[table.columns[i]] = value; }, row[i]);
        list.push_back(object);
    }
    return list.dump(2) + "\n";
}

std::string plain(Table const& table) {
    std::vector<std::size_t> widths;
    for (auto const& column : table.columns) widths.push_back(column.size());
    for (auto const& row : table.rows)
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], short_text(row[i]).size());
    auto const line = [&](auto&& text, auto&& is_left) {
        std::string out;
        for (std::size_t i = 0; i < widths.size(); ++i)
            out += (i > 0 ? "  " : "") +
                   (is_left(i) ? fmt::format("{:<{}}", text(i), widths[i]) : fmt::format("{:>{}}", text(i), widths[i]));
        out.erase(out.find_last_not_of(' ') + 1);
        return out + "\n";
    };
    auto const is_left = [&](std::size_t i) { return table.rows.empty() || is_text(table.rows.front()[i]); };
    auto out = line([&](std::size_t i) { return table.columns[i]; }, is_left);
    for (auto const& row : table.rows) out += line([&](std::size_t i) { return short_text(row[i]); }, is_left);
    return out;
}

} // namespace

std::string render(Table const& table, std::string const& format) {
    if (format == "json") return json(table);
    if (format == "csv") return csv(table);
    if (format == "md") return markdown(table);
    return plain(table);
}

Table select(Table const& table, std::string const& columns) {
    std::vector<std::size_t> chosen;
    Table out;
    for (std::size_t from = 0; from <= columns.size();) {
        auto const to = std::min(columns.find(',', from), columns.size());
        auto const name = columns.substr(from, to - from);
        auto const at = std::ranges::find(table.columns, name);
        if (at == table.columns.end()) {
            auto const near = base::near_word(name, table.columns);
            throw base::InputError("--columns: there is no column '{}'{}; the columns are {}", name,
                                   near ? fmt::format(" (did you mean '{}'?)", *near) : std::string(),
                                   fmt::join(table.columns, ", "));
        }
        chosen.push_back(static_cast<std::size_t>(at - table.columns.begin()));
        out.columns.push_back(name);
        from = to + 1;
    }
    for (auto const& row : table.rows) {
        out.rows.emplace_back();
        for (auto const i : chosen) out.rows.back().push_back(row[i]);
    }
    return out;
}

} // namespace espalier::analysis
