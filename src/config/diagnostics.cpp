#include "espalier/config/diagnostics.hpp"

#include "espalier/config/load.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace espalier::config {
namespace {

std::vector<std::string> split_lines(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        auto const length = std::min(text.find('\n'), text.size());
        auto line = text.substr(0, length);
        if (line.ends_with('\r')) line.remove_suffix(1);
        lines.emplace_back(line);
        text.remove_prefix(std::min(length + 1, text.size()));
    }
    return lines;
}

constexpr std::size_t max_errors = 100; // nobody reads more, and a file may have a million

/// Longer ones are not shown: the position says enough.
constexpr std::size_t max_line = 400;

/// A key or a value of a file may be as long as the file.
constexpr std::size_t max_message = 2000;

std::string shortened(std::string message) {
    if (message.size() <= max_message) return message;
    message.resize(max_message);
    return message + " ...";
}

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

std::string_view before(std::string_view line, int column) {
    return line.substr(0, std::min(static_cast<std::size_t>(column), line.size()));
}

/// Characters, not bytes: what an editor shows.
auto column_text(std::string_view line, int column) {
    return std::ranges::count_if(before(line, column), starts_character) + 1;
}

/// Tabs stay tabs, so that the caret stands below its character.
std::string caret_line(std::string_view line, int column) {
    std::string out;
    for (auto const c : before(line, column))
        if (starts_character(c)) out += c == '\t' ? '\t' : ' ';
    return out + '^';
}

} // namespace

Diagnostics::Diagnostics(std::string name, std::string_view text, std::vector<std::string> origins)
    : name_(std::move(name)), lines_(split_lines(text)), origins_(std::move(origins)) {}

void Diagnostics::error(Place place, std::string message) {
    message = shortened(std::move(message));
    // An alias is read once for every use; one report is enough.
    auto const is_same = [&](Error const& e) { return e.place == place && e.message == message; };
    if (std::ranges::any_of(errors_, is_same)) return;
    if (errors_.size() < max_errors)
        errors_.push_back({place, std::move(message)});
    else
        ++more_errors_;
}

void Diagnostics::add_report(Place place, ConfigError const& other) {
    errors_.push_back({place, other.what(), other.errors()});
}

std::filesystem::path Diagnostics::folder_of(Place place) const {
    return place.source > 0 ? std::filesystem::path{} : std::filesystem::path(name_).parent_path();
}

std::string_view Diagnostics::line_at(Place place) const {
    auto const index = static_cast<std::size_t>(place.line);
    return index < lines_.size() ? std::string_view(lines_[index]) : std::string_view{};
}

std::string Diagnostics::name_of(Place place) const {
    if (place.source > 0) return origins_.at(static_cast<std::size_t>(place.source - 1));
    return fmt::format("{}:{}", place.line + 1, column_text(line_at(place), place.column));
}

std::string Diagnostics::text_of(Error const& error) const {
    auto const& [place, message, other_errors] = error;
    if (other_errors > 0) return message;
    if (place.source > 0) return fmt::format("{}: error: {}", name_of(place), message);
    auto const head = fmt::format("{}:{}: error: {}", name_, name_of(place), message);
    auto const line = line_at(place);
    if (line.empty() || line.size() > max_line) return head;
    return fmt::format("{}\n{}\n{}", head, line, caret_line(line, place.column));
}

void Diagnostics::throw_if_any() const {
    if (errors_.empty()) return;
    auto sorted = errors_;
    std::ranges::stable_sort(sorted, {}, &Error::place);
    std::string report;
    int count = 0;
    for (auto const& error : sorted) {
        report += (report.empty() ? "" : "\n") + text_of(error);
        count += std::max(1, error.other_errors);
    }
    if (more_errors_ > 0) report += fmt::format("\n{}: and {} more errors", name_, more_errors_);
    throw ConfigError(report, count + more_errors_);
}

Context Context::in(std::string_view key) const {
    return Context(*diagnostics_, key_.empty() ? std::string(key) : fmt::format("{}.{}", key_, key));
}

Context Context::item(std::size_t index) const { return Context(*diagnostics_, fmt::format("{}[{}]", key_, index)); }

std::string Context::name() const { return key_.empty() ? "the experiment" : fmt::format("'{}'", key_); }

std::string Context::inside() const { return key_.empty() ? "" : fmt::format(" in '{}'", key_); }

} // namespace espalier::config
