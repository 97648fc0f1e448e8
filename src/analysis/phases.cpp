#include "phases.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace espalier::analysis {
namespace {

Phase over_ranks(std::string name, Analysis const& analysis, auto&& value) {
    Phase phase{.name = std::move(name)};
    double threads = 0, sum = 0;
    bool is_first = true;
    for (auto const& rank : analysis.ranks) {
        auto const x = value(rank);
        if (is_first || x < phase.min) phase.min = x;
        if (is_first || x > phase.max) phase.max = x, phase.max_rank = rank.rank;
        is_first = false;
        sum += x * static_cast<double>(rank.threads.size());
        threads += static_cast<double>(rank.threads.size());
    }
    phase.mean = threads > 0 ? sum / threads : 0;
    return phase;
}

constexpr std::string_view part_prefix = "expand: ";
bool is_part(std::string const& name) { return name.starts_with(part_prefix); }

std::int64_t time_of(RankTimes const& rank, std::string const& name) {
    for (auto const& outcome : rank.outcomes)
        if (outcome.name == name) return outcome.ns;
    return 0;
}

std::int64_t sum_of(RankTimes const& rank, bool of_parts) {
    std::int64_t sum = 0;
    for (auto const& outcome : rank.outcomes) sum += is_part(outcome.name) == of_parts ? outcome.ns : 0;
    return sum;
}

/// Outcomes are of the whole run and sampled: they say in which proportion the time of `expand` went into them. Parts
/// of expanding are sampled once more, and divide its share among them.
double share(RankTimes const& rank, std::string const& name) {
    auto const quotient = [](std::int64_t a, std::int64_t b) {
        return b > 0 ? static_cast<double>(a) / static_cast<double>(b) : 0;
    };
    if (!is_part(name)) return quotient(time_of(rank, name), sum_of(rank, false));
    return quotient(time_of(rank, "expand"), sum_of(rank, false)) * quotient(time_of(rank, name), sum_of(rank, true));
}

/// Of all ranks; negative if they do not say.
std::int64_t samples_of(Analysis const& analysis, auto&& is_wanted) {
    std::int64_t sum = 0;
    for (auto const& rank : analysis.ranks)
        for (auto const& outcome : rank.outcomes) {
            if (!is_wanted(outcome.name)) continue;
            if (outcome.samples < 0) return -1;
            sum += outcome.samples;
        }
    return sum;
}

/// With a hundred samples a share of a tenth is known to within a third of it; with fewer it is a guess.
constexpr std::int64_t enough_samples = 100;
bool has_few_samples(Analysis const& analysis, bool of_parts) {
    auto const samples = samples_of(analysis, [&](std::string const& name) { return is_part(name) == of_parts; });
    return samples >= 0 && samples < enough_samples;
}

std::string outcome_text(std::string const& name) {
    if (name == "expand") return "nodes expanded";
    if (is_part(name)) return name == "expand: ops kept" ? "ops kept" : "refused: " + name.substr(part_prefix.size());
    return name == "candidate" ? "candidates found" : "pruned: " + name;
}

/// Time by what became of the nodes; queries are part of it, so both are divided.
std::vector<Phase> outcomes(Analysis const& analysis, bool wants_parts) {
    std::vector<std::string> names;
    for (auto const& rank : analysis.ranks)
        for (auto const& outcome : rank.outcomes)
            if (outcome.ns > 0 && is_part(outcome.name) == wants_parts &&
                std::ranges::find(names, outcome.name) == names.end())
                names.push_back(outcome.name);
    std::vector<Phase> phases;
    if (has_few_samples(analysis, wants_parts)) return phases;
    for (auto const& name : names) {
        auto phase = over_ranks(outcome_text(name), analysis, [&](RankTimes const& rank) {
            return share(rank, name) * (rank.in(Activity::expand) + rank.in(Activity::query));
        });
        phase.level = wants_parts ? 2 : 1;
        phase.is_estimated = true;
        phase.samples = samples_of(analysis, [&](std::string const& one) { return one == name; });
        phases.push_back(phase);
    }
    std::ranges::stable_sort(phases, std::ranges::greater{}, &Phase::mean);
    return phases;
}

void add_outcomes(Analysis const& analysis, std::vector<Phase>& phases) {
    for (auto const& phase : outcomes(analysis, false)) {
        phases.push_back(phase);
        if (phase.name != "nodes expanded") continue;
        auto const parts = outcomes(analysis, true);
        phases.insert(phases.end(), parts.begin(), parts.end());
    }
}

} // namespace

std::string why_unsampled(Analysis const& analysis) {
    auto const samples = samples_of(analysis, [](std::string const& name) { return !is_part(name); });
    if (samples <= 0 || !has_few_samples(analysis, false)) return {};
    return fmt::format("only {} node{} timed: too few to tell where the time spent expanding went", samples,
                       samples == 1 ? " was" : "s were");
}

std::vector<Phase> phases_of(Analysis const& analysis) {
    std::vector<Phase> phases;
    auto const add = [&](std::string_view name, auto&& value) {
        phases.push_back(over_ranks(std::string(name), analysis, value));
    };
    auto const add_activity = [&](Activity activity) {
        add(activity_names[static_cast<std::size_t>(activity)],
            [&](RankTimes const& rank) { return rank.in(activity); });
    };
    add_activity(Activity::expand);
    bool const has_queries =
        std::ranges::any_of(analysis.ranks, [](RankTimes const& rank) { return rank.in(Activity::query) > 0; });
    if (has_queries) {
        add_activity(Activity::query);
        add("expand and query",
            [](RankTimes const& rank) { return rank.in(Activity::expand) + rank.in(Activity::query); });
        phases.back().is_sum = true;
    }
    add_outcomes(analysis, phases);
    for (auto const activity : {Activity::verify, Activity::wait, Activity::other}) add_activity(activity);
    auto const own = phases.size();
    add("mpi", [](RankTimes const& rank) { return rank.communication.sending + rank.communication.receiving; });
    add("io", [](RankTimes const& rank) { return rank.communication.writing; });
    add("commit", [](RankTimes const& rank) { return rank.communication.committing; });
    for (auto i = own; i < phases.size(); ++i) phases[i].is_own = true;
    return phases;
}

} // namespace espalier::analysis
