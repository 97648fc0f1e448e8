#include "espalier/cluster/agent.hpp"

#include <algorithm>
#include <limits>

namespace espalier::cluster {
namespace {

Master::Options master_options(ClusterOptions const& cluster, std::vector<MemberInfo> members, std::uint8_t level) {
    return {.level = level,
            .members = std::move(members),
            .policy = {.kind = cluster.policy, .budget_ns = cluster.budget.count()},
            .lease_ns = cluster.lease.count()};
}

Link::Options link_options(Agent::Options const& options, base::Rank master, std::uint8_t level) {
    return {.level = level,
            .self = options.self,
            .master = master,
            .host = options.host,
            .commit_ns = options.cluster.commit.count(),
            .budget_ns = options.cluster.budget.count(),
            .lease_ns = options.cluster.lease.count()};
}

} // namespace

Agent::Agent(search::ProblemInfo const& info, search::Pool& pool, Options const& options,
             Link::EmitSink const& emit_sink, std::int64_t now_ns)
    : self_(options.self) {
    auto const& layout = options.layout;
    worker_ = std::make_unique<Link>(pool, link_options(options, layout.master_of(self_), 0), emit_sink);
    if (layout.is_leader(self_))
        master_ = std::make_unique<Master>(info, master_options(options.cluster, layout.members(self_), 0), now_ns);
    if (layout.is_flat()) {
        top_ = master_.get();
        return;
    }
    if (master_) uplink_ = std::make_unique<Link>(*master_, link_options(options, base::Rank{0}, 1));
    if (self_ == base::Rank{0})
        top_master_ = std::make_unique<Master>(info, master_options(options.cluster, layout.groups(), 1), now_ns);
    top_ = top_master_.get();
}

void Agent::start(std::int64_t now_ns) {
    worker_->start(now_ns);
    if (uplink_) uplink_->start(now_ns);
    deliver(now_ns);
}

void Agent::on_message(base::Rank from, Message message, std::int64_t now_ns) {
    dispatch(from, std::move(message), now_ns);
    deliver(now_ns);
}

/// The level and the direction of a message say which role it is for.
void Agent::dispatch(base::Rank from, Message message, std::int64_t now_ns) {
    auto const& body = message.body;
    bool const is_for_member = std::holds_alternative<Welcome>(body) || std::holds_alternative<Batch>(body) ||
                               std::holds_alternative<Order>(body);
    auto* const link = message.header.level == 0 ? worker_.get() : uplink_.get();
    auto* const master = message.header.level == 0 ? master_.get() : top_master_.get();
    if (is_for_member && link != nullptr) return link->on_message(std::move(message), now_ns);
    if (!is_for_member && master != nullptr) return master->on_message(from, std::move(message), now_ns);
    throw base::SystemError("rank {} sent a message to a role that rank {} does not have", from.value, self_.value);
}

/// From the threads upwards: what a worker says now may be news of its group, and of the whole run. The other way
/// round a group of one rank would keep its last commit until something else woke it.
void Agent::tick(std::int64_t now_ns) {
    worker_->tick(now_ns);
    deliver(now_ns);
    if (uplink_) { // before the group feeds its own: what others have been promised is not eaten up here
        uplink_->tick(now_ns);
        deliver(now_ns);
    }
    if (master_) master_->tick(now_ns);
    if (top_master_) top_master_->tick(now_ns);
    deliver(now_ns);
}

/// Collects what the roles have to say, until nothing that stays inside is left.
void Agent::deliver(std::int64_t now_ns) {
    for (bool is_quiet = false; !is_quiet;) {
        std::vector<Outgoing> said;
        auto const collect = [&](auto& role) {
            if (!role) return;
            for (auto& outgoing : role->take_outgoing()) said.push_back(std::move(outgoing));
        };
        collect(top_master_);
        collect(master_);
        collect(uplink_);
        collect(worker_);
        is_quiet = true;
        for (auto& outgoing : said) {
            if (outgoing.to == self_) {
                dispatch(self_, std::move(outgoing.message), now_ns);
                is_quiet = false;
            } else {
                outgoing.message.header.sequence = ++sequence_;
                outgoing_.push_back(std::move(outgoing));
            }
        }
    }
    if (uplink_ && has_passed_farewell_ == false && master_->is_deserted()) {
        has_passed_farewell_ = true;
        uplink_->say_farewell(master_->farewells());
        deliver(now_ns);
    }
}

std::int64_t Agent::next_wake_ns() const {
    auto wake = worker_->next_wake_ns();
    if (uplink_) wake = std::min(wake, uplink_->next_wake_ns());
    if (master_) wake = std::min(wake, master_->next_wake_ns());
    if (top_master_) wake = std::min(wake, top_master_->next_wake_ns());
    return wake;
}

void Agent::say_farewell(Farewell const& own, std::int64_t now_ns) {
    worker_->say_farewell(own);
    deliver(now_ns);
}

bool Agent::is_finished() const {
    if (top_ != nullptr) return top_->is_deserted();
    return uplink_ ? has_passed_farewell_ : true;
}

} // namespace espalier::cluster
