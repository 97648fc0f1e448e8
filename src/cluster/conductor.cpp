#include "espalier/cluster/conductor.hpp"

#include "espalier/base/log.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>

namespace espalier::cluster {

using search::StopReason;

namespace {

/// Stopped before the roots were made; where there are none at all, making them again costs nothing.
bool has_not_begun(RunState const& state) { return state.stage == 0 && state.counts.nodes == 0 && state.open.empty(); }

} // namespace

Conductor::Conductor(search::AnyProblem const& problem, Master& top, Journal& journal, Options options)
    : problem_(problem), top_(top), journal_(journal), options_(options) {
    state_.counts = search::zero_counts(problem.info());
}

void Conductor::start(std::int64_t now_ns) {
    start_ns_ = checkpoint_ns_ = absorbed_ns_ = now_ns;
    top_.count_run_time_from(now_ns);
    feed([this](base::StopToken stop) { return problem_.roots(stop); });
}

void Conductor::resume(RunState state, std::int64_t now_ns) {
    start_ns_ = checkpoint_ns_ = absorbed_ns_ = now_ns;
    state_ = std::move(state);
    top_.count_run_time_from(now_ns - static_cast<std::int64_t>(1e9 * state_.earlier_seconds));
    for (auto const& result : state_.results) {
        keys_.insert(result.key);
        if (problem_.info().has_measure) journal_.measured().add(result);
        if (problem_.info().has_classes) lower(state_.classes, {problem_.class_of(result), result.cost});
    }
    top_.offer_incumbent(state_.incumbent);
    top_.offer_class_costs(state_.classes);
    if (has_not_begun(state_)) return feed([this](base::StopToken stop) { return problem_.roots(stop); });
    feed([open = std::exchange(state_.open, {})](base::StopToken) mutable { return std::move(open); });
}

/// There may be millions of roots, or they take long to make and to cut. They are taken when ready; most are at once.
template <class MakeRoots>
void Conductor::feed(MakeRoots make_roots) {
    awaited_ = std::async(options_.feeding, [this, make = std::move(make_roots)]() mutable {
        return seed(make(base::StopToken(gives_up_feeding_)));
    });
    if (options_.feeding == std::launch::async) awaited_.wait_for(std::chrono::milliseconds(20));
    static_cast<void>(take_roots());
}

/// Static policies cut the tree first, so that every thread of every rank gets every P-th subtree.
search::Seeding Conductor::seed(search::PackedNodes roots) const {
    if (base::info(options_.cluster.policy).ranks_share)
        return {.done = {.counts = search::zero_counts(problem_.info())}, .subtrees = std::move(roots)};
    return problem_.seed(roots, {.depth = options_.cluster.static_depth,
                                 .subtrees = 8 * options_.workers,
                                 .records = &journal_.records(),
                                 .measured = &journal_.measured(),
                                 .stop = base::StopToken(gives_up_feeding_)});
}

/// False while roots are still being made. No roots of a next stage: the run is complete.
bool Conductor::take_roots() {
    if (!awaited_.valid()) return true;
    if (awaited_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout) return false;
    search::Seeding seeding;
    try {
        seeding = awaited_.get();
    } catch (base::Stopped const&) { // what is saved then is the end of the stage before, or that nothing has begun
        return lacks_roots_ = true;
    }
    if (std::exchange(awaits_stage_, false)) {
        if (seeding.subtrees.empty() && seeding.done.counts.nodes == 0) stop(StopReason::complete);
        start_stage();
    }
    for (auto& result : seeding.done.results) result.found_s = top_.run_seconds();
    absorb(std::move(seeding.done));
    top_.add(std::move(seeding.subtrees));
    return true;
}

void Conductor::start_stage() {
    if (phase_ == Phase::stopping && reason_ == StopReason::complete) return;
    if (auto const text = search::stage_text(problem_.info(), state_.stage); !text.empty())
        base::log::detail(
            fmt::format("{}: complete after {:.2f} CPU s, {} nodes", text, top_.cpu_seconds(), top_.status().nodes));
    ++state_.stage;
    // What a stage emitted is not read twice. A checkpoint here would take some 20 ms, most of a small stage.
    is_checkpoint_due_ = is_checkpoint_due_ || !state_.emits.empty() || !state_.emit_marks.empty();
    state_.emits.clear();
    state_.emit_marks.clear();
}

void Conductor::tick(std::int64_t now_ns) {
    if (phase_ == Phase::finished) return;
    if (phase_ == Phase::stopping) {
        if (take_roots() && top_.is_stopped()) finish();
        return;
    }
    if (!take_roots()) return check_limits(now_ns); // nothing is complete, and nothing can be saved, without them
    if (phase_ != Phase::running) return;
    if (now_ns - absorbed_ns_ > 1'000'000'000) {
        absorbed_ns_ = now_ns;
        absorb(top_.take_done());
        journal_.note(state_);
    }
    check_completion();
    if (phase_ == Phase::running) check_limits(now_ns);
    if (phase_ == Phase::running) check_checkpoint(now_ns);
}

void Conductor::absorb(search::Harvest harvest) {
    search::add_to(state_.counts, harvest.counts, problem_.info());
    for (auto& result : harvest.results) {
        state_.incumbent = std::min(state_.incumbent, result.cost);
        if (problem_.info().has_classes) lower(state_.classes, {problem_.class_of(result), result.cost});
        if (keys_.insert(result.key).second) state_.results.push_back(std::move(result));
    }
    if (problem_.info().has_bound) std::erase_if(state_.results, [&](auto const& result) { return is_beaten(result); });
    std::move(harvest.emits.begin(), harvest.emits.end(), std::back_inserter(state_.emits));
    for (auto const& mark : harvest.emit_marks) absorb(mark);
}

/// What follows what is known makes it longer; after a gap, of work that was lost, it stands by itself.
void Conductor::absorb(search::EmitMark const& mark) {
    auto& marks = state_.emit_marks;
    auto const known = std::ranges::find_if(
        marks, [&](auto const& m) { return m.rank == mark.rank && m.first <= mark.first && mark.first <= m.records; });
    if (known == marks.end())
        marks.push_back(mark);
    else
        known->records = std::max(known->records, mark.records);
}

/// The answer of branch and bound is all results equal to the best, or to the best of their class.
bool Conductor::is_beaten(search::ResultRecord const& result) const {
    if (!problem_.info().has_classes) return result.cost > state_.incumbent;
    return result.cost > search::cost_of(state_.classes, problem_.class_of(result));
}

void Conductor::check_completion() {
    if (!top_.status().is_dry) return;
    absorb(top_.take_done());
    if (state_.stage + 1 >= problem_.info().stages) return stop(StopReason::complete);
    awaits_stage_ = true;
    feed([this](base::StopToken stop) { return next_roots(stop); });
}

/// Called beside the communicating thread, which changes nothing of the state until the roots are there.
search::PackedNodes Conductor::next_roots(base::StopToken stop) const {
    if (!problem_.info().has_buckets) return problem_.next_stage(state_.stage, emitted(stop), stop);
    auto const records = state_.counts.counters.back();
    if (records == 0) return {};
    search::Bucket const first{
        .stage = state_.stage, .list = journal_.list_records(state_), .bits = search::bucket_bits(records)};
    return problem_.bucket_roots(first, stop);
}

std::vector<search::EmitGroup> Conductor::emitted(base::StopToken stop) const {
    auto records = journal_.emitted(state_.emit_marks);
    stop.check();
    records.insert(records.end(), state_.emits.begin(), state_.emits.end());
    return search::join_by_key(std::move(records));
}

void Conductor::check_limits(std::int64_t now_ns) {
    auto const& limits = options_.limits;
    auto const results = state_.results.size() + top_.uncommitted_results();
    if (top_.asked_to_stop() != StopReason::complete)
        stop(top_.asked_to_stop());
    else if (limits.max_time_ns > 0 && now_ns - start_ns_ >= limits.max_time_ns)
        stop(StopReason::time_limit);
    else if (limits.max_nodes > 0 && top_.status().nodes >= limits.max_nodes)
        stop(StopReason::node_limit);
    else if (limits.max_results > 0 && results >= limits.max_results)
        stop(StopReason::result_limit);
}

void Conductor::check_checkpoint(std::int64_t now_ns) {
    auto const age = now_ns - checkpoint_ns_;
    if (!is_checkpointing_ && (is_checkpoint_due_ || age >= options_.cluster.checkpoint.count())) {
        is_checkpointing_ = true;
        is_checkpoint_due_ = false;
        checkpoint_ns_ = now_ns;
        top_.order_commit();
    } else if (is_checkpointing_ && (top_.is_fresh() || age > 2'000'000'000)) { // a slow one's older commit is enough
        is_checkpointing_ = false;
        try {
            save();
        } catch (base::SystemError const& error) {
            base::log::warn("no checkpoint was written, the last one stays: {}", error.what());
        }
    }
}

void Conductor::save() {
    absorb(top_.take_done());
    state_.open = top_.open_nodes();
    state_.cpu_seconds = top_.cpu_seconds();
    journal_.save(state_);
    state_.open.clear();
}

void Conductor::stop(StopReason reason) {
    if (phase_ != Phase::running) return;
    phase_ = Phase::stopping;
    reason_ = reason;
    gives_up_feeding_ = true;
    top_.order_stop();
}

/// A limit and completion can meet: if nothing is left after the last commits, the run is complete.
void Conductor::finish() {
    phase_ = Phase::finished;
    absorb(top_.take_done());
    auto const is_last_stage = state_.stage + 1 >= problem_.info().stages;
    if (top_.status().is_dry && is_last_stage && !lacks_roots_ && reason_ != StopReason::error)
        reason_ = StopReason::complete;
    if (reason_ != StopReason::complete) error_ = top_.error();
    save();
}

} // namespace espalier::cluster
