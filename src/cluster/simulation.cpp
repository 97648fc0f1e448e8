#include "espalier/cluster/simulation.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <queue>

namespace espalier::cluster {
namespace {

using base::Rank;

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

struct SimulatedRank {
    std::unique_ptr<search::VirtualWorker> worker;
    std::unique_ptr<Agent> agent;
    std::int64_t free_ns = 0;     ///< its communicating thread is busy until then
    std::int64_t busy_ns = 0;     ///< how long it was busy in all
    std::int64_t wake_ns = never; ///< the one wake-up that counts
    std::int64_t dies_ns = never;
};

/// A message on its way, or (without one) a wake-up.
struct Event {
    std::int64_t at_ns = 0;
    std::uint64_t order = 0; ///< equal times keep the order of their making
    std::int32_t rank = 0;
    std::int32_t from = -1;
    std::shared_ptr<Message const> message; ///< shared by the copies that the heap makes
    std::size_t bytes = 0;

    bool operator>(Event const& other) const {
        return at_ns != other.at_ns ? at_ns > other.at_ns : order > other.order;
    }
};

class NoJournal final : public Journal {
public:
    void save(RunState const&) override {}
};

class Simulation {
public:
    Simulation(search::AnyProblem const& problem, SimulationOptions const& options, Journal& journal)
        : problem_(problem), options_(options) {
        for (int r = 0; r < options.ranks; ++r) ranks_.push_back(make_rank(Rank{r}));
        for (auto const& fault : options.faults)
            if (fault.silent_ns == 0) rank(fault.rank).dies_ns = fault.at_ns;
        conductor_ = std::make_unique<Conductor>(
            problem, *ranks_[0].agent->top(), journal,
            Conductor::Options{options.cluster, options.limits,
                               static_cast<std::size_t>(options.ranks) * static_cast<std::size_t>(options.threads)});
    }

    SimulationReport run(std::optional<RunState> resumed) {
        for (auto& r : ranks_) {
            r.agent->start(0);
            flush(r, 0);
        }
        if (resumed)
            conductor_->resume(std::move(*resumed), 0);
        else
            conductor_->start(0);
        schedule_wake(ranks_[0], 0);
        while (!conductor_->is_finished() && !events_.empty()) step();
        return report();
    }

private:
    SimulatedRank make_rank(Rank self) {
        SimulatedRank r{.worker =
                            problem_.make_virtual_worker({.threads = options_.threads,
                                                          .is_stealing = options_.cluster.policy != PolicyKind::fixed,
                                                          .node_ns = options_.node_ns,
                                                          .slowdown = options_.slowdown})};
        r.agent = std::make_unique<Agent>(
            problem_.info(), *r.worker,
            Agent::Options{self, {options_.ranks, options_.cluster.group}, options_.cluster, "sim"}, Link::EmitSink{},
            0);
        return r;
    }
    SimulatedRank& rank(Rank r) { return ranks_[static_cast<std::size_t>(r.value)]; }

    void step() {
        auto event = events_.top();
        events_.pop();
        auto& r = ranks_[static_cast<std::size_t>(event.rank)];
        if (!event.message && event.at_ns != r.wake_ns) return; // a newer wake-up replaced it
        auto const can_run_ns = std::max(silence_end_ns(event), r.free_ns);
        if (event.at_ns >= r.dies_ns) return;
        if (can_run_ns > event.at_ns) return postpone(std::move(event), r, can_run_ns);
        now_ns_ = event.at_ns;
        r.worker->advance_to(now_ns_);
        if (event.message) {
            occupy(r, event.bytes);
            r.agent->on_message(Rank{event.from}, *event.message, now_ns_);
        } else {
            r.wake_ns = never;
        }
        r.agent->tick(now_ns_);
        if (event.rank == 0) conduct(r);
        flush(r, now_ns_);
        schedule_wake(r, now_ns_);
    }
    void conduct(SimulatedRank& r) {
        conductor_->tick(now_ns_);
        r.agent->tick(now_ns_);
    }
    void postpone(Event event, SimulatedRank& r, std::int64_t to_ns) {
        if (!event.message) r.wake_ns = to_ns;
        event.at_ns = to_ns;
        event.order = ++order_;
        events_.push(std::move(event));
    }
    std::int64_t silence_end_ns(Event const& event) const {
        for (auto const& fault : options_.faults)
            if (fault.silent_ns > 0 && fault.rank.value == event.rank && event.at_ns >= fault.at_ns &&
                event.at_ns < fault.at_ns + fault.silent_ns)
                return fault.at_ns + fault.silent_ns;
        return event.at_ns;
    }
    void occupy(SimulatedRank& r, std::size_t bytes) {
        auto const cost =
            options_.message_ns + static_cast<std::int64_t>(options_.ns_per_byte * static_cast<double>(bytes));
        r.free_ns = std::max(r.free_ns, now_ns_) + cost;
        r.busy_ns += cost;
    }
    void flush(SimulatedRank& r, std::int64_t now_ns) {
        now_ns_ = now_ns;
        auto const from = static_cast<std::int32_t>(&r - ranks_.data());
        for (auto& outgoing : r.agent->take_outgoing()) {
            auto const bytes = encode(outgoing.message).size();
            occupy(r, bytes);
            ++messages_;
            bytes_ += bytes;
            events_.push({.at_ns = r.free_ns + options_.latency_ns,
                          .order = ++order_,
                          .rank = outgoing.to.value,
                          .from = from,
                          .message = std::make_shared<Message const>(std::move(outgoing.message)),
                          .bytes = bytes});
        }
    }
    /// The next time at which the rank may have something to say by itself.
    void schedule_wake(SimulatedRank& r, std::int64_t now_ns) {
        auto wake = r.agent->next_wake_ns();
        if (!r.worker->status().is_dry) wake = std::min(wake, r.worker->next_look_ns());
        if (&r == ranks_.data()) wake = std::min(wake, now_ns + 100'000'000); // the conductor's limits
        r.wake_ns = std::max(wake, now_ns + 100'000);
        events_.push({.at_ns = r.wake_ns, .order = ++order_, .rank = static_cast<std::int32_t>(&r - ranks_.data())});
    }
    SimulationReport report() {
        SimulationReport report{.reason = conductor_->reason(),
                                .state = conductor_->state(),
                                .makespan_ns = now_ns_,
                                .messages = messages_,
                                .bytes = bytes_,
                                .lost_ranks = ranks_[0].agent->top()->lost()};
        for (auto const& r : ranks_) report.useful_ns += r.worker->useful_ns();
        report.efficiency =
            static_cast<double>(report.useful_ns) / (static_cast<double>(now_ns_) * options_.ranks * options_.threads);
        report.master_load =
            static_cast<double>(ranks_[0].busy_ns) / static_cast<double>(std::max<std::int64_t>(now_ns_, 1));
        return report;
    }

    search::AnyProblem const& problem_;
    SimulationOptions const& options_;
    std::vector<SimulatedRank> ranks_;
    std::unique_ptr<Conductor> conductor_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::int64_t now_ns_ = 0;
    std::uint64_t order_ = 0;
    std::uint64_t messages_ = 0;
    std::uint64_t bytes_ = 0;
};

} // namespace

SimulationReport simulate(search::AnyProblem const& problem, SimulationOptions const& options, Journal& journal,
                          std::optional<RunState> resumed) {
    return Simulation(problem, options, journal).run(std::move(resumed));
}

SimulationReport simulate(search::AnyProblem const& problem, SimulationOptions const& options) {
    NoJournal journal;
    return simulate(problem, options, journal);
}

} // namespace espalier::cluster
