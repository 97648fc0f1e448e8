#include "html.hpp"
#include "sections.hpp"

#include "espalier/base/units.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace espalier::analysis::report {
namespace {

using base::Json;

std::string heading(std::string key) {
    std::ranges::replace(key, '_', ' ');
    return escaped(key);
}

/// Texts of several lines are shown with the drawings; of what has parts only what is as short as a matrix is shown.
bool fits_a_cell(Json const& value) {
    constexpr std::size_t matrix = 60;
    if (value.is_string()) return value.get_ref<std::string const&>().find('\n') == std::string::npos;
    return !value.is_structured() || (value.is_array() && value.dump().size() <= matrix);
}

/// The keys of the first result. A program that stands there as text is not shown as a list as well; being long, it is
/// last, so that costs are in sight.
std::vector<std::string> columns_of(Json const& results) {
    std::vector<std::string> keys;
    auto const& first = results.front();
    for (auto const& [key, value] : first.items())
        if (fits_a_cell(value) && !(key == "program" && first.contains("text"))) keys.push_back(key);
    std::ranges::stable_partition(keys, [](std::string const& key) { return key != "text"; });
    return keys;
}

std::vector<Cell> cells_of(Json const& object, std::vector<std::string> const& keys) {
    std::vector<Cell> cells;
    for (auto const& key : keys) cells.push_back(object.contains(key) ? cell_of(object[key]) : Cell{});
    return cells;
}

std::string input_row(Json const& input, std::vector<std::string> const& keys) {
    if (!input.is_object()) return {};
    auto cells = cells_of(input, keys);
    if (cells.front().html.empty()) cells.front() = {"input", "", false};
    return "<tfoot>" + table_row(cells) + "</tfoot>\n";
}

std::string results_table(Contents const& contents) {
    auto const& results = contents.results;
    auto const keys = columns_of(results);
    auto const all = contents.summary.record.results.size();
    auto const caption = results.size() < all
                             ? fmt::format("The best {} of {} results", results.size(), base::grouped(all))
                             : fmt::format("All {} result{}, the best first", base::grouped(all), all == 1 ? "" : "s");
    auto const is_long = results.size() > 12;
    auto out = fmt::format(
        "<div class=\"wide{}\"{}>\n<table class=\"sortable\" id=\"results-table\">\n<caption>{}</caption>"
        "\n<thead><tr>",
        is_long ? " scroll" : "", is_long ? " tabindex=\"0\" role=\"region\" aria-label=\"Results\"" : "", caption);
    auto const first = cells_of(results.front(), keys);
    for (std::size_t i = 0; i < keys.size(); ++i)
        out +=
            fmt::format("<th scope=\"col\"{}>{}</th>", first[i].is_number ? " class=\"number\"" : "", heading(keys[i]));
    out += "</tr></thead>\n<tbody>\n";
    for (auto const& result : results) out += table_row(cells_of(result, keys));
    return out + "</tbody>\n" + input_row(contents.input, keys) + "</table>\n</div>\n";
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

/// A block a line, so that one that is wrapped goes on set in.
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
    if (contents.summary.record.results.empty()) return "Nothing was found so far; the funnel says where it ended.";
    return "The results can not be listed by this version.";
}

} // namespace

std::string results_html(Contents const& contents) {
    if (!contents.results.is_array() || contents.results.empty())
        return fmt::format("<p class=\"empty\">{}</p>\n", why_empty(contents));
    auto out = results_table(contents);
    if (contents.input.is_object() && contents.input.contains("hardware"))
        out += fmt::format("<p class=\"note\">Costs are estimates for {}, no measurements.</p>\n",
                           escaped(contents.input["hardware"].get<std::string>()));
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
                           lines_html(contents.funnel));
    auto const& record = contents.summary.record;
    if (record.info.counters.empty()) return {};
    std::string out = "<table><caption>Other counts</caption><tbody>\n";
    for (std::size_t i = 0; i < record.info.counters.size() && i < record.counts.counters.size(); ++i)
        out += fmt::format("<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td></tr>\n",
                           escaped(record.info.counters[i].name), base::grouped(record.counts.counters[i]));
    return out + "</tbody></table>\n";
}

} // namespace espalier::analysis::report
