#include "espalier/cluster/conductor.hpp"

#include "espalier/base/log.hpp"

#include <algorithm>

namespace espalier::cluster {

using search::StopReason;

Conductor::Conductor(search::AnyProblem const& problem, Hub& top, Journal& journal, Options options)
    : problem_(problem), top_(top), journal_(journal), options_(options) {
    state_.counts = search::zero_counts(problem.info());
}

void Conductor::start(std::int64_t now_ns) {
    start_ns_ = checkpoint_ns_ = absorbed_ns_ = now_ns;
    feed(problem_.roots());
}

void Conductor::resume(RunState state, std::int64_t now_ns) {
    start_ns_ = checkpoint_ns_ = absorbed_ns_ = now_ns;
    state_ = std::move(state);
    for (auto const& result : state_.results) keys_.insert(result.key);
    top_.offer_incumbent(state_.incumbent);
    feed(std::exchange(state_.open, {}));
}

/// Static policies cut the tree first, so that every thread of every rank gets every P-th subtree.
void Conductor::feed(search::PackedNodes nodes) {
    if (options_.cluster.policy == PolicyKind::hybrid) return top_.add(nodes);
    auto seeding = problem_.seed(nodes, {.depth = options_.cluster.static_depth, .subtrees = 8 * options_.workers});
    absorb(std::move(seeding.done));
    top_.add(seeding.subtrees);
}

void Conductor::tick(std::int64_t now_ns) {
    if (phase_ == Phase::finished) return;
    if (phase_ == Phase::stopping) {
        if (top_.is_stopped()) finish();
        return;
    }
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
        if (keys_.insert(result.key).second) state_.results.push_back(std::move(result));
    }
    if (problem_.info().has_bound) // the answer of branch and bound is all results equal to the best
        std::erase_if(state_.results, [&](auto const& result) { return result.cost > state_.incumbent; });
    std::move(harvest.emits.begin(), harvest.emits.end(), std::back_inserter(state_.emits));
    for (auto const& mark : harvest.emit_marks) {
        auto const known = std::find_if(state_.emit_marks.begin(), state_.emit_marks.end(),
                                        [&](auto const& m) { return m.rank == mark.rank; });
        if (known == state_.emit_marks.end())
            state_.emit_marks.push_back(mark);
        else
            known->records = std::max(known->records, mark.records);
    }
}

void Conductor::check_completion() {
    if (!top_.status().is_dry) return;
    absorb(top_.take_done());
    auto const roots = next_stage();
    if (roots.empty()) return stop(StopReason::complete);
    ++state_.stage;
    state_.emits.clear();
    state_.emit_marks.clear();
    feed(roots);
    is_checkpoint_due_ = true; // what a stage emitted is not read twice
}

search::PackedNodes Conductor::next_stage() {
    if (state_.stage + 1 >= problem_.info().stages) return {};
    auto records = journal_.emitted(state_.emit_marks);
    records.insert(records.end(), state_.emits.begin(), state_.emits.end());
    return problem_.next_stage(state_.stage, join_by_key(std::move(records)));
}

std::vector<search::EmitGroup> join_by_key(std::vector<search::EmitRecord> records) {
    std::sort(records.begin(), records.end());
    records.erase(std::unique(records.begin(), records.end()), records.end());
    std::vector<search::EmitGroup> groups;
    for (auto& record : records) {
        if (groups.empty() || groups.back().key != record.key) groups.push_back({record.key, {}});
        groups.back().values.push_back(std::move(record.bytes));
    }
    return groups;
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
    if (!is_checkpointing_ && (is_checkpoint_due_ || age >= options_.cluster.checkpoint_ns)) {
        is_checkpointing_ = true;
        is_checkpoint_due_ = false;
        checkpoint_ns_ = now_ns;
        top_.order_commit();
    } else if (is_checkpointing_ && (top_.is_fresh() || age > 2'000'000'000)) { // a slow member's older commit will do
        is_checkpointing_ = false;
        try {
            save();
        } catch (base::SystemError const& error) {
            base::log::warn("no checkpoint, the last one stays: {}", error.what());
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
    top_.order_stop();
}

/// A limit and completion can meet: if nothing is left after the last commits, the run is complete.
void Conductor::finish() {
    phase_ = Phase::finished;
    absorb(top_.take_done());
    auto const is_last_stage = state_.stage + 1 >= problem_.info().stages;
    if (top_.status().is_dry && is_last_stage && reason_ != StopReason::error) reason_ = StopReason::complete;
    if (reason_ != StopReason::complete) error_ = top_.error();
    save();
}

} // namespace espalier::cluster
