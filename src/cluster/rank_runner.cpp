#include "rank_runner.hpp"

#include "espalier/base/log.hpp"
#include "espalier/base/system.hpp"
#include "espalier/base/units.hpp"

#include <algorithm>
#include <cstdlib>
#include <thread>

namespace espalier::cluster {
namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t second = 1'000'000'000;

store::ShardInfo shard_info(Communicator const& comm, SearchOptions const& options, std::int64_t start_ns) {
    return {.rank = comm.rank().value,
            .threads = options.threads,
            .host = base::host_name(),
            .wall_minus_steady_ns = base::wall_ns() - base::steady_ns(),
            .start_ns = start_ns,
            .segment = options.segment};
}

} // namespace

RankRunner::RankRunner(search::AnyProblem const& problem, SearchOptions const& options, Communicator& comm,
                       Journal* journal)
    : problem_(problem), options_(options), comm_(comm), journal_(journal), start_cpu_s_(base::process_cpu_seconds()),
      start_ns_(base::steady_ns()), recorder_(options.trace, options.threads), records_(options.folder),
      pool_(problem.make_pool({.threads = options.threads,
                               .is_stealing = base::info(options.cluster.policy).threads_share,
                               .verify_batch = options.verify_batch,
                               .rank = comm.rank().value,
                               .trace = &recorder_,
                               .records = &records_,
                               .measured = journal != nullptr ? &journal->measured() : &measured_,
                               .most_emits = 2 * Link::most_emits})),
      progress_({.is_enabled = options.shows_progress && journal != nullptr, .is_terminal = options.is_terminal}) {
    Agent::Options const agent{comm.rank(), {comm.size(), options.cluster.group}, options.cluster, base::host_name()};
    agent_ = std::make_unique<Agent>(
        problem.info(), *pool_, agent, [this](auto records) { return append_emits(std::move(records)); }, start_ns_);
    busy_ns_ = looked_ns_ = traced_ns_ = stepped_ns_ = heard_ns_ = shown_ns_ = start_ns_;
    if (options.trace.is_enabled && !options.folder.empty()) open_shard();
    if (journal == nullptr) load_measured();
    if (journal == nullptr) return;
    auto const workers = static_cast<std::size_t>(options.threads) * static_cast<std::size_t>(comm.size());
    conductor_ =
        std::make_unique<Conductor>(problem, *agent_->top(), *journal,
                                    Conductor::Options{options.cluster, options.limits, workers, std::launch::async});
}

/// Rank 0 knows what is stored from its journal, others from the checkpoint that it resumes. A rank that cannot read it
/// measures again, which costs time and changes nothing that is stored.
void RankRunner::load_measured() {
    if (!problem_.info().has_measure || options_.folder.empty()) return;
    try {
        auto const stored = store::read_checkpoint(options_.folder);
        if (!stored) return;
        for (auto const& result : stored->record.results) measured_.add(result);
    } catch (base::InputError const& error) {
        base::log::warn("this rank measures stored results again: {}", error.what());
    }
}

void RankRunner::open_shard() {
    auto const file = options_.folder / store::trace_shard_name(options_.segment, comm_.rank().value);
    try {
        shard_ = std::make_unique<store::TraceShard>(file, shard_info(comm_, options_, start_ns_),
                                                     search::outcome_names(problem_.info()));
    } catch (base::SystemError const& error) {
        base::log::warn("this rank leaves no trace: {}", error.what());
    }
}

Outcome RankRunner::run() {
    pool_->run([this] { communicate(); });
    part();
    return outcome();
}

void RankRunner::communicate() {
    agent_->worker().set_cpu_seconds(base::process_cpu_seconds()); // an early checkpoint knows what the start has cost
    agent_->start(base::steady_ns());
    if (conductor_) {
        if (auto resumed = journal_->take_resumed())
            conductor_->resume(std::move(*resumed), base::steady_ns());
        else
            conductor_->start(base::steady_ns());
        earlier_nodes_ = conductor_->state().counts.nodes;
        best_ = conductor_->state().incumbent;
    }
    while (!is_done()) {
        auto const now = base::steady_ns();
        step(now);
        if (now - looked_ns_ >= 50 * ms) look_after(now);
        sleep(now);
    }
}

bool RankRunner::is_done() const { return agent_->has_stopped() && (!conductor_ || conductor_->is_finished()); }

void RankRunner::step(std::int64_t now_ns) {
    if (receive_all(now_ns)) busy_ns_ = now_ns;
    agent_->tick(now_ns);
    if (conductor_) {
        conductor_->tick(now_ns);
        agent_->tick(now_ns); // what the conductor ordered of this rank's own worker
    }
    send_all();
}

bool RankRunner::receive_all(std::int64_t now_ns) {
    bool has_received = false;
    while (auto incoming = comm_.receive()) {
        has_received = true;
        auto const start = base::steady_ns();
        auto message = decode(incoming->bytes);
        auto const sequence = message.header.sequence;
        agent_->on_message(incoming->from, std::move(message), now_ns);
        record({.start_ns = start,
                .duration_ns = base::steady_ns() - start,
                .id = sequence,
                .bytes = static_cast<std::uint32_t>(incoming->bytes.size()),
                .peer = incoming->from.value,
                .kind = trace::Kind::receive});
    }
    return has_received;
}

void RankRunner::send_all() {
    for (auto const& outgoing : agent_->take_outgoing()) {
        auto const start = base::steady_ns();
        auto bytes = encode(outgoing.message);
        auto const size = static_cast<std::uint32_t>(bytes.size());
        comm_.send(outgoing.to, std::move(bytes));
        record({.start_ns = start,
                .duration_ns = base::steady_ns() - start,
                .id = outgoing.message.header.sequence,
                .bytes = size,
                .peer = outgoing.to.value,
                .kind = trace::Kind::send});
    }
}

void RankRunner::record(trace::Event const& event) const {
    if (auto* buffer = recorder_.buffer(0)) buffer->append(event);
}

/// How long to wait before the next probe. Just after a message others tend to follow; after a second of silence nobody
/// is in a hurry. A process without others is only woken by its own threads.
void RankRunner::sleep(std::int64_t now_ns) {
    auto const silence = now_ns - busy_ns_;
    std::int64_t const probe = silence < 2 * ms ? 50'000 : silence < second ? ms : 4 * ms;
    if (comm_.size() > 1) return pool_->wait(std::chrono::nanoseconds(probe));
    auto const until_wake = std::max<std::int64_t>(agent_->next_wake_ns() - now_ns, 50'000);
    pool_->wait(std::chrono::nanoseconds(std::min<std::int64_t>(until_wake, 20 * ms)));
}

void RankRunner::look_after(std::int64_t now_ns) {
    looked_ns_ = now_ns;
    agent_->worker().set_cpu_seconds(base::process_cpu_seconds());
    check_signals();
    check_worker(now_ns);
    check_master(now_ns);
    show_progress(now_ns);
    if (now_ns - traced_ns_ >= second) {
        traced_ns_ = now_ns;
        write_trace(trace::Drain::finished);
    }
}

void RankRunner::check_signals() {
    if (signals_.wants_stop()) {
        if (conductor_)
            conductor_->request_stop(search::StopReason::signal);
        else
            agent_->worker().ask_to_stop(search::StopReason::signal);
    }
    if (signals_.take_checkpoint_request() && conductor_) conductor_->request_checkpoint();
}

void RankRunner::check_worker(std::int64_t now_ns) {
    if (auto const failure = pool_->failure())
        agent_->worker().ask_to_stop(
            failure->is_out_of_memory ? search::StopReason::memory_limit : search::StopReason::error,
            fmt::format("rank {} on {}: {}", comm_.rank().value, base::host_name(), failure->message));
    check_memory(now_ns);
}

/// Close to the limit shallow nodes go back to the master, on another rank; past it the run stops and can be resumed.
/// The last commit and the checkpoint need memory too, about `commit_bytes` for each unfinished node, which is kept
/// free for them.
void RankRunner::check_memory(std::int64_t now_ns) {
    constexpr std::uint64_t commit_bytes = 256;
    if (options_.memory_bytes == 0) return;
    auto const used = base::current_rss_bytes() + commit_bytes * pool_->status().unfinished;
    if (used > options_.memory_bytes)
        agent_->worker().ask_to_stop(
            search::StopReason::memory_limit,
            fmt::format("rank {} on {} needs {} and may use {} (search.memory): raise it and resume",
                        comm_.rank().value, base::host_name(), base::human_bytes(static_cast<double>(used)),
                        base::human_bytes(static_cast<double>(options_.memory_bytes))));
    else if (used > options_.memory_bytes / 10 * 9 && agent_->top() == nullptr)
        agent_->worker().relieve(now_ns);
}

/// Rank 0, or this group's master, is the one that must live. Time counts only while this rank is awake itself, so that
/// a rank that was stopped and continues does not give up at once.
void RankRunner::check_master(std::int64_t now_ns) {
    if (comm_.rank().value == 0) return;
    auto const heard = agent_->heard_ns();
    silence_ns_ = heard != heard_ns_ ? 0 : silence_ns_ + std::min(now_ns - stepped_ns_, second);
    heard_ns_ = heard;
    stepped_ns_ = now_ns;
    if (silence_ns_ < 6 * options_.cluster.lease.count() + 5 * second) return;
    base::log::error(
        "the master has been silent for {}: this rank ends; the run can be resumed from its last checkpoint",
        base::human_duration(1e-9 * static_cast<double>(silence_ns_)));
    write_trace(trace::Drain::all);
    std::_Exit(static_cast<int>(base::ExitCode::failure));
}

base::ProgressRecord RankRunner::progress_record(std::int64_t now_ns) {
    auto const status = agent_->top()->status();
    auto const& state = conductor_->state();
    auto const elapsed_s = 1e-9 * static_cast<double>(now_ns - start_ns_);
    auto const best = std::min(state.incumbent, status.incumbent);
    if (best < best_) best_ = best, improved_s_ = elapsed_s;
    return {.elapsed_s = elapsed_s,
            .nodes = earlier_nodes_ + status.nodes,
            .nodes_per_s =
                1e9 * static_cast<double>(status.nodes - shown_nodes_) / static_cast<double>(now_ns - shown_ns_),
            .queued = agent_->top()->queued(),
            .idle_threads = status.idle_threads,
            .threads = status.threads,
            .results = state.results.size() + agent_->top()->uncommitted_results(),
            .best = best,
            .lost_ranks = status.lost_ranks,
            .wall_s = 1e-9 * static_cast<double>(base::wall_ns()),
            .improved_s = improved_s_,
            .stage = search::stage_text(problem_.info(), state.stage)};
}

void RankRunner::show_progress(std::int64_t now_ns) {
    if (!conductor_ || now_ns - shown_ns_ < 250 * ms) return;
    auto const record = progress_record(now_ns);
    journal_->add_progress(record);
    if (progress_.is_due(now_ns))
        progress_.show(record, now_ns);
    else if (now_ns - shown_ns_ < 5 * second)
        return;
    shown_nodes_ = record.nodes - earlier_nodes_;
    shown_ns_ = now_ns;
}

/// A trace that cannot be written is not worth a run: it ends with a warning, and the search continues.
void RankRunner::write_trace(trace::Drain what) {
    auto const cpu_start = base::thread_cpu_ns();
    auto const events = recorder_.drain(what);
    if (!shard_ || events.empty()) return;
    auto const start = base::steady_ns();
    try {
        shard_->set_clock_offset(agent_->worker().clock_offset_ns());
        shard_->append(events);
        shard_->set_outcomes(pool_->outcome_ns(), pool_->outcome_samples());
        trace_events_ = shard_->events();
    } catch (base::SystemError const& error) {
        base::log::warn("the trace of this rank ends here: {}", error.what());
        shard_.reset();
    }
    store_cpu_ns_ += base::thread_cpu_ns() - cpu_start;
    record({.start_ns = start,
            .duration_ns = base::steady_ns() - start,
            .bytes = static_cast<std::uint32_t>(events.size() * sizeof(trace::Event)),
            .kind = trace::Kind::write});
}

/// Sorted, so that a bucket of them is read without the others.
std::uint64_t RankRunner::append_emits(std::vector<search::EmitRecord> records) {
    std::ranges::sort(records, {}, &search::EmitRecord::key);
    if (!emit_shard_)
        emit_shard_ = std::make_unique<store::EmitShard>(options_.folder /
                                                         store::emit_shard_name(options_.segment, comm_.rank().value));
    return emit_shard_->append(records);
}

Farewell RankRunner::farewell() {
    Farewell farewell{.cpu_seconds = base::process_cpu_seconds(),
                      .peak_rss_bytes = base::peak_rss_bytes(),
                      .phases = pool_->phases(),
                      .trace_events = trace_events_};
    auto& phases = farewell.phases;
    phases.start = start_cpu_s_;
    phases.store =
        1e-9 * static_cast<double>(store_cpu_ns_) + (journal_ != nullptr ? journal_->store_cpu_seconds() : 0);
    phases.idle = std::max(0.0, farewell.cpu_seconds - phases.start - phases.search - phases.verify - phases.prove -
                                    phases.store);
    return farewell;
}

/// The threads have ended: says what this rank cost, and waits until everybody who is alive has said so too.
void RankRunner::part() {
    progress_.clear();
    write_trace(trace::Drain::all);
    shard_.reset();
    agent_->say_farewell(farewell(), base::steady_ns());
    while (true) {
        auto const now = base::steady_ns();
        receive_all(now);
        agent_->tick(now);
        send_all();
        if (agent_->is_finished()) return;
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
}

Outcome RankRunner::outcome() {
    Outcome outcome{.ranks = comm_.size(), .threads = options_.threads};
    if (!conductor_) return outcome;
    auto const& state = conductor_->state();
    auto const costs = agent_->top()->farewells();
    outcome.reason = conductor_->reason();
    outcome.error = conductor_->error();
    outcome.counts = state.counts;
    outcome.results = state.results.size();
    outcome.seconds = 1e-9 * static_cast<double>(base::steady_ns() - start_ns_);
    outcome.cpu_seconds = costs.cpu_seconds;
    outcome.total_seconds = outcome.seconds + journal_->earlier_seconds();
    outcome.total_cpu_seconds = outcome.cpu_seconds + journal_->earlier_cpu_seconds();
    outcome.phases = costs.phases;
    outcome.peak_rss_bytes = costs.peak_rss_bytes;
    outcome.lost_ranks = agent_->top()->lost();
    outcome.trace_events = costs.trace_events;
    return outcome;
}

Outcome search(search::AnyProblem const& problem, SearchOptions const& options, Communicator& comm, Journal* journal) {
    auto tuned = options;
    if (options.limits.max_nodes > 0 ||
        options.limits.max_results > 0) // a limit is kept as exactly as the news is fresh
        tuned.cluster.budget = std::min(options.cluster.budget, base::Nanoseconds(10 * ms));
    return RankRunner(problem, tuned, comm, journal).run();
}

} // namespace espalier::cluster
