#include "espalier/cluster/link.hpp"

#include "espalier/base/defaults.hpp"
#include "espalier/base/log.hpp"

#include <algorithm>

namespace espalier::cluster {

namespace {

/// Between commits that nobody asked for, for each subtree that travels with them: packing, sending and reading one
/// takes about a microsecond in all, and should not take more than a tenth of the time.
constexpr std::int64_t kept_pause_ns = 10'000;

} // namespace

using base::defaults::chunk_ns;
using search::PoolStatus;
using search::StopReason;

Link::Link(search::Pool& pool, Options options, EmitSink emit_sink)
    : pool_(pool), options_(std::move(options)), emit_sink_(std::move(emit_sink)), budget_ns_(options_.budget_ns) {}

void Link::start(std::int64_t now_ns) {
    heard_ns_ = pulse_ns_ = commit_ns_ = now_ns;
    send(Hello{.threads = pool_.status().threads, .host = options_.host, .clock_ns = now_ns});
}

void Link::on_message(Message message, std::int64_t now_ns) {
    heard_ns_ = now_ns;
    pool_.offer_incumbent(message.header.incumbent);
    pool_.offer_class_costs(message.header.classes);
    std::visit([&](auto& body) { receive(std::move(body), now_ns); }, message.body);
}

void Link::receive(Welcome const& welcome, std::int64_t now_ns) {
    read_clock(welcome.echo_ns, welcome.clock_ns, now_ns);
    if (welcome.epoch == epoch_) return;
    if (epoch_ != 0) {
        base::log::warn(
            "this rank was given up as lost; it drops its subtrees, which others have now, and starts again");
        pool_.drop_all();
    }
    epoch_ = welcome.epoch;
    marked_ = emitted_;
    received_ = 0;
    owed_ = 0;
    owes_commit_ = false;
    auto const status = pool_.status();
    has_told_dry_ = status.is_dry; // the pulse says it, and there is nothing to commit
    committed_nodes_ = status.nodes;
    committed_results_ = status.results;
    send_pulse(status, false, now_ns);
}

void Link::receive(Batch&& batch, std::int64_t now_ns) {
    if (batch.epoch != epoch_) return;
    fed_ns_ = now_ns;
    received_ = batch.number;
    budget_ns_ = batch.budget_ns;
    told_hunger_ = Hunger::none;
    is_thought_poor_ = false;
    has_told_dry_ = false;
    pool_.add(std::move(batch.roots));
}

void Link::receive(Order const& order, std::int64_t now_ns) {
    read_clock(order.echo_ns, order.clock_ns, now_ns);
    if (order.epoch != epoch_) return;
    budget_ns_ = order.budget_ns;
    if (order.kind == OrderKind::give) {
        owed_ = order.amount;
        owed_since_ns_ = now_ns;
    } else if (order.kind == OrderKind::commit) {
        owes_commit_ = true;
    } else if (order.kind == OrderKind::stop && !is_stopping_) {
        is_stopping_ = true;
        pool_.prepare_to_stop();
    }
}

/// Cristian's method: the master read its clock in the middle of the round trip, give or take half of it.
void Link::read_clock(std::int64_t echo_ns, std::int64_t master_ns, std::int64_t now_ns) {
    if (echo_ns == 0) return;
    auto const round_trip = now_ns - echo_ns;
    if (shortest_round_trip_ns_ >= 0 && round_trip >= shortest_round_trip_ns_) return;
    shortest_round_trip_ns_ = round_trip;
    clock_offset_ns_ = master_ns - (echo_ns + round_trip / 2);
}

void Link::tick(std::int64_t now_ns) {
    if (epoch_ == 0 || has_stopped_) return;
    auto const status = pool_.status();
    if (emit_sink_ && status.emits >= most_emits) write_emits(pool_.take_emits());
    answer_orders(status, now_ns);
    if (!has_stopped_) report(status, now_ns);
}

void Link::answer_orders(PoolStatus const& status, std::int64_t now_ns) {
    if (is_stopping_ && pool_.is_ready_to_stop()) {
        has_stopped_ = true;
        return commit(0, now_ns);
    }
    if (owed_ > 0 && pool_.is_ready_to_give()) return commit(owed_, now_ns);
    if (owes_commit_) return commit(0, now_ns);
    if (owed_ == 0) return;
    pool_.prepare_to_give();
    if (!status.is_dry && now_ns < declines_ns()) return; // even one node may soon be many
    if (status.spare > 0) return commit(owed_, now_ns);
    owed_ = 0;
    send_pulse(status, true, now_ns);
}

std::int64_t Link::declines_ns() const { return owed_since_ns_ + std::max<std::int64_t>(budget_ns_ / 4, 2'000'000); }

void Link::report(PoolStatus const& status, std::int64_t now_ns) {
    if (status.is_dry && !has_told_dry_) {
        has_told_dry_ = true;
        return commit(0, now_ns);
    }
    auto const has_news = status.nodes != committed_nodes_;
    auto const has_results = status.results != committed_results_;
    auto const pause_ns = std::max(has_results ? std::min(options_.commit_ns, options_.result_ns) : options_.commit_ns,
                                   static_cast<std::int64_t>(kept_) * kept_pause_ns);
    if ((has_news || has_results) && now_ns - commit_ns_ >= pause_ns) return commit(0, now_ns);
    auto const interval = std::min(budget_ns_, options_.lease_ns / 4);
    if (wants_pulse_ || now_ns - pulse_ns_ >= (status.is_dry ? options_.lease_ns / 4 : interval) ||
        is_news_of_hunger(status, now_ns) || is_recovered(status, now_ns))
        send_pulse(status, false, now_ns);
}

/// A batch is given the time of a chunk to unfold before anybody hears that it was not enough; longer if all threads
/// are busy, because a pool of many of them is short of nodes nearly all the time.
bool Link::is_news_of_hunger(PoolStatus const& status, std::int64_t now_ns) {
    auto const now_hungry = hunger(status);
    auto const is_hungrier = now_hungry > told_hunger_;
    auto const pause_ns = now_hungry == Hunger::idle ? chunk_ns : std::max(chunk_ns, budget_ns_ / 16);
    patient_until_ns_ = is_hungrier && !status.is_dry && now_ns < fed_ns_ + pause_ns ? fed_ns_ + pause_ns : 0;
    return is_hungrier && patient_until_ns_ == 0;
}

/// The master takes this pool for poor, and would not ask it before its next pulse, but nodes have come up meanwhile.
/// Told at once, and then not much more often than pulses are due, because a pool with a few nodes changes all the
/// time.
bool Link::is_recovered(PoolStatus const& status, std::int64_t now_ns) const {
    return is_thought_poor_ && status.spare > 0 && hunger(status) != Hunger::idle &&
           now_ns >= recovered_ns_ + budget_ns_ / 4;
}

Hunger Link::hunger(PoolStatus const& status) const {
    if (static_cast<std::uint64_t>(status.idle_threads) > status.spare) return Hunger::idle;
    return status.unfinished < 2 * static_cast<std::uint64_t>(status.threads) ? Hunger::low : Hunger::none;
}

Pulse Link::pulse(PoolStatus const& status, std::int64_t now_ns) const {
    return {.epoch = epoch_,
            .received = received_,
            .clock_ns = now_ns,
            .unfinished = status.unfinished,
            .spare = status.spare,
            .nodes = status.nodes - committed_nodes_,
            .results = status.results - committed_results_,
            .threads = status.threads,
            .idle_threads = status.idle_threads,
            .lost_ranks = status.lost_ranks,
            .cpu_seconds = cpu_seconds_ + status.cpu_seconds,
            .hunger = hunger(status),
            .asks_to_stop = asks_to_stop_};
}

void Link::send_pulse(PoolStatus const& status, bool has_declined, std::int64_t now_ns) {
    auto message = pulse(status, now_ns);
    message.has_declined = has_declined;
    if (is_recovered(status, now_ns)) recovered_ns_ = now_ns;
    remember(message);
    pulse_ns_ = now_ns;
    wants_pulse_ = false;
    send(message);
}

void Link::remember(Pulse const& told) {
    told_hunger_ = told.hunger;
    is_thought_poor_ = told.hunger == Hunger::idle || told.has_declined;
}

void Link::write_emits(std::vector<search::EmitRecord> records) {
    if (!records.empty()) emitted_ = emit_sink_(std::move(records));
}

/// The pool's ledgers, all of them, in one message. Status is read after the harvest, so that nothing it says is older.
void Link::commit(std::size_t give, std::int64_t now_ns) {
    Commit message{.harvest = pool_.harvest(give), .is_final = has_stopped_, .error = error_};
    auto& harvest = message.harvest;
    if (emit_sink_) write_emits(std::exchange(harvest.emits, {}));
    if (emitted_ != marked_)
        harvest.emit_marks.push_back({options_.self.value, emitted_, std::exchange(marked_, emitted_)});
    committed_nodes_ += harvest.counts.nodes;
    committed_results_ += harvest.results.size();
    kept_ = harvest.kept.size();
    auto const status = pool_.status();
    message.pulse = pulse(status, now_ns);
    message.pulse.has_declined = give > 0 && harvest.given.empty();
    remember(message.pulse);
    pulse_ns_ = commit_ns_ = now_ns;
    owes_commit_ = false;
    if (give > 0) owed_ = 0;
    send(std::move(message));
}

std::int64_t Link::next_wake_ns() const {
    if (owes_commit_) return pulse_ns_;
    if (owed_ > 0) return declines_ns(); // what could be given before comes from the pool, which is looked at anyway
    if (has_told_dry_) return pulse_ns_ + options_.lease_ns / 4; // until a batch comes
    auto const pause_ns = std::max(options_.commit_ns, static_cast<std::int64_t>(kept_) * kept_pause_ns);
    auto const due_ns = std::min({pulse_ns_ + budget_ns_, pulse_ns_ + options_.lease_ns / 4, commit_ns_ + pause_ns});
    return patient_until_ns_ > 0 ? std::min(due_ns, patient_until_ns_) : due_ns;
}

void Link::relieve(std::int64_t now_ns) {
    if (owed_ > 0) return;
    owed_ = 1024;
    owed_since_ns_ = now_ns;
}

void Link::ask_to_stop(StopReason reason, std::string error) {
    if (asks_to_stop_ != StopReason::complete) return;
    asks_to_stop_ = reason;
    error_ = std::move(error);
    wants_pulse_ = true;
}

void Link::say_farewell(Farewell farewell) {
    farewell.epoch = epoch_;
    send(farewell);
}

void Link::send(Body body) {
    Header header{.level = options_.level, .incumbent = pool_.incumbent(), .classes = pool_.class_costs()};
    outgoing_.push_back({options_.master, {.header = std::move(header), .body = std::move(body)}});
}

} // namespace espalier::cluster
