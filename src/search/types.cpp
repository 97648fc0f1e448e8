#include "espalier/search/types.hpp"

#include "espalier/base/contract.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace espalier::search {
namespace {

std::uint64_t joined(CounterKind kind, std::uint64_t a, std::uint64_t b) {
    return kind == CounterKind::max ? std::max(a, b) : a + b;
}

} // namespace

Counts zero_counts(ProblemInfo const& info) {
    Counts counts;
    counts.funnel.resize(info.reasons.size());
    counts.counters.resize(info.counters.size());
    return counts;
}

void add_to(Counts& total, Counts const& more, ProblemInfo const& info) {
    ESP_EXPECT(total.funnel.size() == info.reasons.size() && more.funnel.size() == info.reasons.size());
    ESP_EXPECT(total.counters.size() == info.counters.size() && more.counters.size() == info.counters.size());
    total.nodes += more.nodes;
    for (std::size_t i = 0; i < total.funnel.size(); ++i) total.funnel[i] += more.funnel[i];
    for (std::size_t i = 0; i < total.counters.size(); ++i)
        total.counters[i] = joined(info.counters[i].kind, total.counters[i], more.counters[i]);
}

PhaseTimes& PhaseTimes::operator+=(PhaseTimes const& other) {
    start += other.start;
    search += other.search;
    verify += other.verify;
    prove += other.prove;
    store += other.store;
    idle += other.idle;
    return *this;
}

std::string stage_text(ProblemInfo const& info, int stage) {
    auto const at = static_cast<std::size_t>(stage);
    if (at >= info.stage_names.size()) return {};
    return fmt::format("stage {} of {}: {}", stage + 1, info.stage_names.size(), info.stage_names[at]);
}

std::vector<std::string> outcome_names(ProblemInfo const& info) {
    std::vector<std::string> names{"expand", "candidate"};
    names.insert(names.end(), info.reasons.begin(), info.reasons.end());
    for (auto const& part : info.parts) names.push_back("expand: " + part);
    return names;
}

} // namespace espalier::search
