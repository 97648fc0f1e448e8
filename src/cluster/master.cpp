#include "espalier/cluster/master.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/log.hpp"

#include <iterator>

namespace espalier::cluster {
namespace {

QueueOrder order_of(search::ProblemInfo const& info, Balancer const& balancer) {
    if (info.has_priority) return QueueOrder::priority;
    return balancer.is_balancing() ? QueueOrder::depth : QueueOrder::arrival;
}

} // namespace

Master::Master(search::ProblemInfo info, Options const& options, std::int64_t now_ns)
    : info_(std::move(info)), level_(options.level), lease_ns_(options.lease_ns),
      leases_(options.members, options.lease_ns, now_ns), balancer_(options.policy, options.members.size()),
      queue_(order_of(info_, balancer_)), done_{.counts = search::zero_counts(info_)}, now_ns_(now_ns),
      sent_ns_(options.members.size(), now_ns) {}

void Master::on_message(base::Rank from, Message message, std::int64_t now_ns) {
    auto const member = leases_.find(from);
    if (!member) throw base::SystemError("rank {} is not a member of this group", from.value);
    now_ns_ = now_ns;
    has_news_ = true;
    offer_incumbent(message.header.incumbent);
    offer_class_costs(message.header.classes);
    std::visit([&](auto& body) { receive(*member, std::move(body)); }, message.body);
}

void Master::tick(std::int64_t now_ns) {
    now_ns_ = now_ns;
    if (now_ns >= leases_.next_check_ns()) {
        for (auto const member : leases_.expired(now_ns)) lose(member);
        has_news_ = true;
    }
    if (!std::exchange(has_news_, false) && now_ns < balancer_.next_ask_ns()) return;
    serve();
}

// --- what members say

void Master::receive(std::size_t member, Hello const& hello) {
    leases_.greet(member, hello, now_ns_);
    send_welcome(member, hello.clock_ns);
    if (is_stopping_) send_order(member, OrderKind::stop);
}

bool Master::is_current(std::size_t member, std::uint32_t epoch, std::int64_t clock_ns) {
    auto const standing = leases_.hear(member, epoch, now_ns_);
    if (standing == Leases::Standing::outdated) {
        send_welcome(member, clock_ns);
        return false;
    }
    if (standing == Leases::Standing::returned) {
        base::log::note("rank {} is back", leases_[member].rank.value);
        if (is_stopping_) send_order(member, OrderKind::stop); // it was not there when others heard
    }
    return true;
}

void Master::receive(std::size_t member, Pulse const& pulse) {
    if (!is_current(member, pulse.epoch, pulse.clock_ns)) return;
    leases_.note(member, pulse);
    note(member, pulse);
    if (now_ns_ - sent_ns_[member] > lease_ns_ / 4) // a sign of life of ours, and a reading of the clocks
        send_order(member, OrderKind::none);
}

void Master::note(std::size_t member, Pulse const& pulse) {
    balancer_.hear(member, situation());
    if (pulse.asks_to_stop != search::StopReason::complete && asked_to_stop_ == search::StopReason::complete)
        asked_to_stop_ = pulse.asks_to_stop;
}

/// All of it or nothing. What it carries may be millions of subtrees: it is moved, not copied.
void Master::receive(std::size_t member, Commit&& commit) {
    if (!is_current(member, commit.pulse.epoch, commit.pulse.clock_ns)) return;
    auto& harvest = commit.harvest;
    auto const has_given = !harvest.given.empty();
    search::add_to(done_.counts, harvest.counts, info_);
    total_nodes_ += harvest.counts.nodes;
    total_results_ += harvest.results.size();
    for (auto& result : harvest.results) done_.results.emplace_back(std::move(result)).found_s = run_seconds();
    std::move(harvest.emits.begin(), harvest.emits.end(), std::back_inserter(done_.emits));
    done_.emit_marks.insert(done_.emit_marks.end(), harvest.emit_marks.begin(), harvest.emit_marks.end());
    leases_.renew(member, commit);
    queue_.push(std::move(harvest.given));
    note(member, commit.pulse);
    if (has_given) balancer_.on_gift(member);
    if (!commit.error.empty() && error_.empty()) error_ = commit.error;
}

void Master::receive(std::size_t member, Farewell const& farewell) {
    if (!is_current(member, farewell.epoch)) return;
    leases_.dismiss(member);
    farewells_.ranks += farewell.ranks;
    farewells_.cpu_seconds += farewell.cpu_seconds;
    farewells_.peak_rss_bytes = std::max(farewells_.peak_rss_bytes, farewell.peak_rss_bytes);
    farewells_.phases += farewell.phases;
    farewells_.trace_events += farewell.trace_events;
}

/// The member's lease goes back into the queue; whatever it still says about it is of an old epoch.
void Master::lose(std::size_t member) {
    auto const& lease = leases_[member];
    base::log::warn("rank {}{}{} has been silent for {:.1f} s: its subtrees go to others", lease.rank.value,
                    lease.host.empty() ? "" : " on ", lease.host, 1e-9 * static_cast<double>(now_ns_ - lease.heard_ns));
    queue_.push(leases_.take_back(member));
    balancer_.on_loss(member);
}

// --- moving work

void Master::serve() {
    if (is_stopping_) return;
    if (!balancer_.is_balancing()) return deal();
    for (auto const& share : balancer_.feed(situation())) send_batch(share.member, share.subtrees);
    ask(balancer_.recall(situation()));
}

/// `static` and `omp-dynamic`: as soon as everybody is there, subtree i goes to member i modulo their number, once.
void Master::deal() {
    if (queue_.empty() || !is_complete_roll()) return;
    std::vector<std::size_t> present;
    for (std::size_t i = 0; i < leases_.size(); ++i)
        if (leases_[i].is_active()) present.push_back(i);
    if (present.empty()) return;
    auto const nodes = queue_.pop(queue_.size());
    for (std::size_t i = 0; i < present.size(); ++i) {
        search::PackedNodes share;
        for (auto j = i; j < nodes.size(); j += present.size()) share.push_back(nodes[j]);
        if (share.empty()) continue;
        queue_.push(std::move(share));
        send_batch(present[i], queue_.size());
    }
}

void Master::send_batch(std::size_t member, std::size_t size) {
    Batch batch{.epoch = leases_[member].epoch, .budget_ns = balancer_.budget_ns(situation())};
    batch.roots = queue_.pop(size);
    batch.number = leases_.lend(member, batch.roots);
    balancer_.on_batch(member);
    send(member, std::move(batch));
}

void Master::ask(std::vector<Share> const& shares) {
    for (auto const& share : shares) send_order(share.member, OrderKind::give, share.subtrees);
}

void Master::send_order(std::size_t member, OrderKind kind, std::size_t amount) {
    send(member, Order{.epoch = leases_[member].epoch,
                       .kind = kind,
                       .amount = amount,
                       .budget_ns = balancer_.budget_ns(situation()),
                       .echo_ns = leases_[member].pulse.clock_ns,
                       .clock_ns = now_ns_});
}

void Master::send_welcome(std::size_t member, std::int64_t echo_ns) {
    send(member, Welcome{.epoch = leases_[member].epoch, .echo_ns = echo_ns, .clock_ns = now_ns_});
}

void Master::send(std::size_t member, Body body) {
    sent_ns_[member] = now_ns_;
    outgoing_.push_back(
        {leases_[member].rank,
         {.header = {.level = level_, .incumbent = incumbent_, .classes = classes_}, .body = std::move(body)}});
}

void Master::order_commit() {
    for (std::size_t i = 0; i < leases_.size(); ++i) {
        if (!leases_[i].is_active()) continue;
        leases_.expect_commit(i);
        send_order(i, OrderKind::commit);
    }
}

void Master::order_stop() {
    is_stopping_ = true;
    for (std::size_t i = 0; i < leases_.size(); ++i)
        if (leases_[i].is_active()) send_order(i, OrderKind::stop);
}

// --- what the master above sees

void Master::add(search::PackedNodes nodes) {
    queue_.push(std::move(nodes));
    serve();
    has_news_ = false;
}

void Master::prepare_to_give() {
    if (balancer_.has_promised()) return;
    has_news_ = true;
    ask(balancer_.promise(situation()));
}

/// In one pass: a group's leader asks for it all the time.
search::PoolStatus Master::status() const {
    search::PoolStatus status{.unfinished = queue_.size(),
                              .spare = queue_.size(),
                              .nodes = total_nodes_,
                              .results = total_results_,
                              .incumbent = incumbent_,
                              .is_dry = queue_.empty()};
    for (auto const& lease : leases_) {
        auto const& pulse = lease.pulse;
        status.threads += pulse.threads;
        status.unfinished += pulse.unfinished;
        status.nodes += pulse.nodes;
        status.results += pulse.results;
        status.cpu_seconds += pulse.cpu_seconds;
        status.idle_threads += lease.is_active() ? pulse.idle_threads : 0;
        status.lost_ranks += lease.is_lost() ? lease.ranks : pulse.lost_ranks;
        status.is_dry = status.is_dry && lease.is_empty();
    }
    return status;
}

search::Harvest Master::take_done() {
    return std::exchange(done_, search::Harvest{.counts = search::zero_counts(info_)});
}

search::PackedNodes Master::open_nodes() const {
    search::PackedNodes open;
    queue_.copy_to(open);
    leases_.copy_to(open);
    return open;
}

search::Harvest Master::harvest(std::size_t most) {
    auto harvest = take_done();
    harvest.given = queue_.pop(most);
    harvest.kept = open_nodes();
    has_news_ = true;
    if (!harvest.given.empty()) balancer_.keep_promise();
    return harvest;
}

/// The master above has given our work to others: every member starts anew.
void Master::drop_all() {
    queue_.clear();
    has_news_ = true;
    done_ = search::Harvest{.counts = search::zero_counts(info_)};
    balancer_.on_drop();
    for (std::size_t i = 0; i < leases_.size(); ++i) {
        leases_.drop(i);
        if (leases_[i].is_active()) send_welcome(i, 0);
    }
}

// --- what the run has cost

Farewell Master::farewells() const {
    auto sum = farewells_;
    sum.cpu_seconds += leases_.cpu_seconds_of_lost();
    return sum;
}

double Master::cpu_seconds() const {
    double seconds = 0;
    for (auto const& lease : leases_) seconds += lease.pulse.cpu_seconds;
    return seconds;
}

std::uint64_t Master::uncommitted_results() const {
    std::uint64_t results = 0;
    for (auto const& lease : leases_) results += lease.pulse.results;
    return results;
}

} // namespace espalier::cluster
