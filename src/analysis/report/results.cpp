#include "html.hpp"
#include "sections.hpp"

#include "espalier/base/units.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace espalier::analysis::report {
namespace {

using base::Json;

std::string heading(ResultColumn const& column) {
    auto text = column.title;
    std::ranges::replace(text, '_', ' ');
    return escaped(column.unit.empty() ? text : fmt::format("{} {}", text, column.unit));
}

/// What is under a key, or under `a.b`; nothing if it is not there.
Json const* value_at(Json const& object, std::string const& key) {
    if (auto const found = object.find(key); found != object.end()) return &*found;
    auto const dot = key.find('.');
    auto const outer = dot == std::string::npos ? object.end() : object.find(key.substr(0, dot));
    return outer == object.end() ? nullptr : value_at(*outer, key.substr(dot + 1));
}

/// Texts of several lines are shown with the drawings; of what has parts only what is as short as a matrix is shown.
bool fits_a_cell(Json const& value) {
    constexpr std::size_t matrix = 60;
    if (value.is_string()) return value.get_ref<std::string const&>().find('\n') == std::string::npos;
    return !value.is_structured() || (value.is_array() && value.dump().size() <= matrix);
}

/// What the problem names as columns, as far as the first result has them; of a problem that names none all its keys.
std::vector<ResultColumn> columns_of(Contents const& contents) {
    auto const& first = contents.results.front();
    std::vector<ResultColumn> columns;
    if (contents.columns.empty())
        for (auto const& [key, value] : first.items()) columns.push_back({key, key, ""});
    else
        columns = contents.columns;
    std::erase_if(columns, [&](auto const& one) {
        auto const* const value = value_at(first, one.key);
        return value == nullptr || !fits_a_cell(*value);
    });
    return columns;
}

std::vector<Cell> cells_of(Json const& object, std::vector<ResultColumn> const& columns) {
    std::vector<Cell> cells;
    for (auto const& one : columns) {
        auto const* const value = value_at(object, one.key);
        cells.push_back(value != nullptr ? cell_of(*value) : Cell{});
    }
    return cells;
}

std::string input_row(Json const& input, std::vector<ResultColumn> const& columns) {
    if (!input.is_object() || columns.empty()) return {};
    auto cells = cells_of(input, columns);
    if (cells.front().html.empty()) cells.front() = {"input", "", false};
    return "<tfoot>" + table_row(cells) + "</tfoot>\n";
}

std::string caption_of(Contents const& contents) {
    if (!contents.list_note.empty()) return escaped(contents.list_note);
    auto const shown = contents.results.size(), all = contents.summary.record.results.size();
    return shown < all ? fmt::format("The best {} of {} results", shown, base::grouped(all))
                       : fmt::format("All {} result{}, the best first", base::grouped(all), all == 1 ? "" : "s");
}

std::string results_table(Contents const& contents) {
    auto const& results = contents.results;
    auto const columns = columns_of(contents);
    auto const caption = caption_of(contents);
    auto const is_long = results.size() > 12;
    auto out = fmt::format(
        "<div class=\"wide{}\"{}>\n<table class=\"sortable\" id=\"results-table\">\n<caption>{}</caption>"
        "\n<thead><tr>",
        is_long ? " scroll" : "", is_long ? " tabindex=\"0\" role=\"region\" aria-label=\"Results\"" : "", caption);
    auto const first = cells_of(results.front(), columns);
    for (std::size_t i = 0; i < columns.size(); ++i)
        out += fmt::format("<th scope=\"col\"{}>{}</th>", first[i].is_number ? " class=\"number\"" : "",
                           heading(columns[i]));
    out += "</tr></thead>\n<tbody>\n";
    for (auto const& result : results) out += table_row(cells_of(result, columns));
    return out + "</tbody>\n" + input_row(contents.input, columns) + "</table>\n</div>\n";
}

/// As an image: it can neither run a script nor share ids with its neighbours.
std::string drawing_html(Drawing const& drawing) {
    auto out = fmt::format("<figure>\n<figcaption>{}</figcaption>\n", escaped(drawing.title));
    if (!drawing.svg.empty())
        out +=
            fmt::format("<img alt=\"Drawing of result {}; its text is below\" src=\"data:image/svg+xml;base64,{}\">\n",
                        escaped(drawing.title), base64(drawing.svg));
    if (!drawing.text.empty())
        out += fmt::format("<details><summary>As text</summary><pre>{}</pre></details>\n", escaped(drawing.text));
    return out + "</figure>\n";
}

/// One block per line, so that one that is wrapped continues indented.
std::string lines_html(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        auto const end = std::min(text.find('\n'), text.size());
        out += fmt::format("<span>{}</span>", escaped(text.substr(0, end)));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

std::string why_empty(Contents const& contents) {
    if (contents.summary.record.info.is_counting)
        return "The problem counts the nodes of a tree; there are no results to list.";
    if (!contents.list_note.empty()) return escaped(contents.list_note);
    if (!contents.summary.record.results.empty()) return "The results cannot be listed by this version.";
    auto const status = status_word(contents.summary);
    if (status == "complete") return "Nothing was found; the funnel shows where the search ended.";
    return status == "running" ? "Nothing has been found so far; the search continues."
                               : fmt::format("Nothing was found before the search was stopped ({}).", status);
}

} // namespace

std::string results_html(Contents const& contents) {
    if (!contents.results.is_array() || contents.results.empty())
        return fmt::format("<p class=\"empty\">{}</p>\n", why_empty(contents));
    auto out = results_table(contents);
    if (!contents.known.empty())
        out += fmt::format("<p class=\"note\">All results: {}.</p>\n", escaped(contents.known));
    if (!contents.cost.about.empty()) out += fmt::format("<p class=\"note\">{}</p>\n", escaped(contents.cost.about));
    if (contents.input.is_object() && contents.input.contains("text"))
        out += fmt::format("<details><summary>The input as text</summary><pre>{}</pre></details>\n",
                           escaped(contents.input["text"].get<std::string>()));
    if (contents.drawings.empty()) return out;
    out += "<div class=\"drawings\">\n";
    for (auto const& drawing : contents.drawings) out += drawing_html(drawing);
    return out + "</div>\n";
}

std::string funnel_html(Contents const& contents) {
    if (!contents.funnel.empty())
        return fmt::format("<details open><summary>In words</summary><pre>{}</pre></details>\n",
                           lines_html(search::to_text(contents.funnel) +
                                      (contents.advice.empty() ? "" : "  " + contents.advice + "\n")));
    auto const& record = contents.summary.record;
    if (record.info.counters.empty()) return {};
    std::string out = "<table><caption>Other counts</caption><tbody>\n";
    for (std::size_t i = 0; i < record.info.counters.size() && i < record.counts.counters.size(); ++i)
        out += fmt::format("<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td></tr>\n",
                           escaped(record.info.counters[i].name), base::grouped(record.counts.counters[i]));
    return out + "</tbody></table>\n";
}

} // namespace espalier::analysis::report
