#include "measuring.hpp"

#include "espalier/base/log.hpp"
#include "espalier/base/units.hpp"
#include "espalier/problems/kind/measuring.hpp"
#include "espalier/store/times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace espalier::run {
namespace {

using search::ResultRecord;
using search::StopReason;

/// What was measured becomes a part of the run, which is complete and stays so whatever happens meanwhile.
class MeasuredJournal final : public cluster::Journal {
public:
    explicit MeasuredJournal(cluster::RunJournal& run) : run_(run) {
        auto& results = run_.record().results;
        for (std::size_t i = 0; i < results.size(); ++i) places_.emplace(results[i].key, i);
    }
    void save(cluster::RunState const& state) override {
        take(state);
        write();
    }
    void note(cluster::RunState const& state) override {
        if (take(state)) write();
    }
    [[nodiscard]] std::vector<std::uint64_t> const& measured() const { return measured_; }

private:
    /// False if there was nothing new.
    bool take(cluster::RunState const& state) {
        auto const before = measured_.size();
        for (auto i = before; i < state.results.size(); ++i) {
            auto const& result = state.results[i];
            run_.record().results[places_.at(result.key)].payload = result.payload;
            measured_.push_back(result.key);
        }
        return measured_.size() > before;
    }
    void write() const { store::write_run(run_.folder().run_file(), run_.record()); }

    cluster::RunJournal& run_;
    std::unordered_map<std::uint64_t, std::size_t> places_;
    std::vector<std::uint64_t> measured_; ///< keys, in the order of arrival
};

} // namespace

MeasuringPhase::MeasuringPhase(config::RunConfig const& config, cluster::Communicator& comm,
                               cluster::RunJournal* journal)
    : config_(config), comm_(comm), journal_(journal) {}

bool MeasuringPhase::is_wanted(config::RunConfig const& config) {
    return problems::kind_of(config).measured_at_end(config) > 0;
}

void MeasuringPhase::check(config::RunConfig const& config) {
    if (!is_wanted(config)) return;
    problems::kind_of(config).measurer(config, {})->check();
    static_cast<void>(store::TimesFile::of(config.measure.times).read());
}

problems::StoredRun MeasuringPhase::stored_run() const {
    auto const& record = journal_->record();
    return {config_, record.info, record.counts, record.results, "complete"};
}

/// A result is checked as well: a third of its share is for the clock, and one that hangs ends.
problems::MeasureOptions MeasuringPhase::options_for_each() const {
    auto const top = problems::kind_of(config_).measured_at_end(config_);
    auto const share = config_.measure.seconds / static_cast<double>(std::max<std::size_t>(top, 1));
    return {.seconds = std::clamp(share / 3, 0.05, 5.0),
            .limit_seconds = std::min(std::max(2 * share, 10.0), 0.75 * config_.measure.seconds)};
}

std::vector<ResultRecord> MeasuringPhase::without_known(std::vector<ResultRecord> const& chosen,
                                                        problems::StoredResults const& results,
                                                        MeasuringOutcome& outcome) const {
    auto const times = store::TimesFile::of(config_.measure.times).read();
    std::vector<ResultRecord> unknown;
    for (auto const& record : chosen) {
        auto const key = results.time_key(record, {});
        auto const* time = key ? store::find_time(times, *key) : nullptr;
        auto const known = time != nullptr ? results.remembered(record, *time) : std::nullopt;
        if (!known || !known->payload) {
            unknown.push_back(record);
            continue;
        }
        ++outcome.known;
        auto& list = journal_->record().results;
        std::ranges::find(list, record.key, &ResultRecord::key)->payload = *known->payload;
    }
    return unknown;
}

/// None where the first search has not come to its end. Nothing is thrown: other ranks wait for this one.
std::vector<ResultRecord> MeasuringPhase::choose(cluster::Outcome const& found, MeasuringOutcome& outcome) const {
    if (journal_ == nullptr || found.reason != StopReason::complete || found.lost_ranks > 0) return {};
    try {
        auto const results = problems::open(stored_run());
        auto const top = problems::kind_of(config_).measured_at_end(config_);
        auto chosen = without_known(results->worth_measuring(top), *results, outcome);
        outcome.wanted = chosen.size();
        return chosen;
    } catch (std::exception const& error) {
        outcome.error = error.what();
        return {};
    }
}

/// What it leaves to ranks is no run; who stops it does not stop a search.
cluster::SearchOptions MeasuringPhase::second_search(cluster::SearchOptions options,
                                                     cluster::Outcome const& found) const {
    options.cluster.policy = base::Policy::hybrid; // others would cut the tree, which is not one
    auto const left_ns = options.limits.max_time_ns - static_cast<std::int64_t>(1e9 * found.seconds);
    auto const wanted_ns = static_cast<std::int64_t>(1e9 * config_.measure.seconds);
    auto const is_limited = options.limits.max_time_ns > 0 && left_ns < wanted_ns;
    options.limits = {.max_time_ns = is_limited ? std::max<std::int64_t>(left_ns, 1) : wanted_ns};
    options.folder.clear();
    return options;
}

void MeasuringPhase::keep_times(std::vector<std::uint64_t> const& measured) const {
    auto const results = problems::open(stored_run());
    std::vector<search::MeasuredTime> times;
    for (auto const& record : journal_->record().results)
        if (std::ranges::count(measured, record.key) > 0)
            if (auto const time = results->time_in(record)) times.push_back(*time);
    store::TimesFile::of(config_.measure.times).add(times);
}

MeasuringOutcome MeasuringPhase::run(cluster::SearchOptions const& search, cluster::Outcome const& found) {
    MeasuringOutcome outcome;
    auto const results = choose(found, outcome);
    if (comm_.size() == 1 && results.empty()) {
        if (outcome.known > 0) store::write_run(journal_->folder().run_file(), journal_->record());
        return outcome;
    }
    if (!results.empty())
        base::log::note("measuring {} program{} on this machine, for at most {}", results.size(),
                        results.size() == 1 ? "" : "s", base::human_duration(config_.measure.seconds));
    std::shared_ptr<problems::Measurer const> const measurer =
        problems::kind_of(config_).measurer(config_, options_for_each());
    auto const problem = search::erase(problems::Measuring(measurer, results));
    std::optional<MeasuredJournal> journal;
    if (journal_ != nullptr) journal.emplace(*journal_);
    auto const options = second_search(search, found);
    auto const ended = cluster::search(*problem, options, comm_, journal ? &*journal : nullptr);
    if (!journal) return outcome;
    outcome.reason = ended.reason;
    outcome.lost_ranks = ended.lost_ranks;
    if (!ended.error.empty()) outcome.error = ended.error;
    outcome.measured = journal->measured().size();
    keep_times(journal->measured());
    return outcome;
}

} // namespace espalier::run
