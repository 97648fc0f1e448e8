#include "funnel.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace espalier::analysis::report {
namespace {

std::string_view trimmed(std::string_view text) {
    auto const from = text.find_first_not_of(' ');
    if (from == std::string_view::npos) return {};
    return text.substr(from, text.find_last_not_of(' ') - from + 1);
}

/// `1,234`; nothing if it is anything else.
std::optional<std::uint64_t> count_of(std::string_view text) {
    std::string digits;
    std::ranges::copy_if(text, std::back_inserter(digits), [](char c) { return c != ','; });
    std::uint64_t count = 0;
    auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return {};
    return count;
}

/// The name ends where two blanks begin, the count where the next one is.
std::optional<Step> step_of(std::string_view line) {
    Step step;
    line = trimmed(line);
    if (line.starts_with("- ")) {
        step.is_kept = false;
        line.remove_prefix(2);
    }
    auto const gap = line.find("  ");
    if (gap == std::string_view::npos) return {};
    step.name = line.substr(0, gap);
    line = trimmed(line.substr(gap));
    auto const end = std::min(line.find(' '), line.size());
    auto const count = count_of(line.substr(0, end));
    if (!count) return {};
    step.count = *count;
    step.note = trimmed(line.substr(end));
    return step;
}

} // namespace

std::vector<Step> steps_of(std::string_view text) {
    std::vector<Step> steps;
    while (!text.empty()) {
        auto const end = std::min(text.find('\n'), text.size());
        if (auto step = step_of(text.substr(0, end))) steps.push_back(std::move(*step));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return steps;
}

std::vector<Step> steps_of(store::RunRecord const& record) {
    std::vector<Step> steps{{"nodes", record.counts.nodes, true, "looked at"}};
    for (std::size_t i = 0; i < record.info.reasons.size(); ++i)
        steps.push_back({record.info.reasons[i], i < record.counts.funnel.size() ? record.counts.funnel[i] : 0, false,
                         "ended for this reason"});
    if (!record.info.is_counting) steps.push_back({"results", record.results.size(), true, "stored"});
    return steps;
}

} // namespace espalier::analysis::report
