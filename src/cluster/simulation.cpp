#include "espalier/cluster/simulation.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <queue>

namespace espalier::cluster {
namespace {

using base::Rank;

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

/// A rank that gets more messages than it can read still decides something now and then.
constexpr int most_unanswered = 16;

/// A message that arrived while the communicating thread was busy waits in the inbox.
struct Letter {
    Rank from;
    Message message;
    std::size_t bytes = 0;
};

struct SimulatedRank {
    std::unique_ptr<search::VirtualWorker> worker;
    std::unique_ptr<Agent> agent;
    std::deque<Letter> inbox;
    int unanswered = 0;             ///< messages that were read since it decided anything
    std::int64_t free_ns = 0;       ///< its communicating thread is busy until then
    std::int64_t busy_ns = 0;       ///< how long it was busy in all
    std::int64_t wake_ns = never;   ///< when it acts by itself next
    std::int64_t queued_ns = never; ///< the earliest of its own events: not later than wake_ns
    std::int64_t dies_ns = never;
};

/// A message arrives (`letter` is its place), or a rank acts by itself.
struct Event {
    static constexpr std::uint32_t no_letter = ~std::uint32_t{0};
    std::int64_t at_ns = 0;
    std::uint64_t order = 0; ///< equal times keep the order of their creation
    std::int32_t rank = 0;
    std::uint32_t letter = no_letter;

    bool operator>(Event const& other) const {
        return at_ns != other.at_ns ? at_ns > other.at_ns : order > other.order;
    }
};

/// Messages on their way; places are used again.
class Mail {
public:
    [[nodiscard]] std::uint32_t put(Letter letter) {
        if (free_.empty()) {
            letters_.push_back(std::move(letter));
            return static_cast<std::uint32_t>(letters_.size() - 1);
        }
        auto const place = free_.back();
        free_.pop_back();
        letters_[place] = std::move(letter);
        return place;
    }
    [[nodiscard]] Letter take(std::uint32_t place) {
        free_.push_back(place);
        return std::move(letters_[place]);
    }

private:
    std::deque<Letter> letters_;
    std::vector<std::uint32_t> free_;
};

class NoJournal final : public Journal {
public:
    void save(RunState const&) override {}
};

class Simulation {
public:
    Simulation(search::AnyProblem const& problem, SimulationOptions const& options, Journal& journal)
        : problem_(problem), options_(options) {
        for (int r = 0; r < options.ranks; ++r) ranks_.push_back(make_rank(Rank{r}, journal));
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
        ranks_[0].wake_ns = 0;
        queue_next(ranks_[0]);
        while (!conductor_->is_finished() && !events_.empty()) step();
        return report();
    }

private:
    SimulatedRank make_rank(Rank self, Journal& journal) {
        SimulatedRank r{
            .worker = problem_.make_virtual_worker({.threads = options_.threads,
                                                    .is_stealing = base::info(options_.cluster.policy).threads_share,
                                                    .node_ns = options_.node_ns,
                                                    .slowdown = options_.slowdown,
                                                    .records = &journal.records(),
                                                    .measured = &journal.measured()})};
        r.agent = std::make_unique<Agent>(
            problem_.info(), *r.worker,
            Agent::Options{self, {options_.ranks, options_.cluster.group}, options_.cluster, "sim"}, Link::EmitSink{},
            0);
        return r;
    }
    SimulatedRank& rank(Rank r) { return ranks_[static_cast<std::size_t>(r.value)]; }

    void step() {
        auto const event = events_.top();
        events_.pop();
        auto& r = ranks_[static_cast<std::size_t>(event.rank)];
        if (event.at_ns >= r.dies_ns) return lose(event);
        auto const silent_until_ns = silence_end_ns(event);
        if (silent_until_ns > event.at_ns) r.free_ns = std::max(r.free_ns, silent_until_ns);
        if (event.letter != Event::no_letter) {
            r.inbox.push_back(mail_.take(event.letter));
        } else {
            if (event.at_ns != r.queued_ns) return; // an earlier one replaced it
            r.queued_ns = never;
        }
        if (r.free_ns <= event.at_ns && (!r.inbox.empty() || r.wake_ns <= event.at_ns)) act(r, event.at_ns);
        queue_next(r);
    }
    void lose(Event const& event) {
        if (event.letter != Event::no_letter) static_cast<void>(mail_.take(event.letter));
    }
    /// One message, or none. What follows from it is decided when all that have come are read, as a real rank does.
    void act(SimulatedRank& r, std::int64_t now_ns) {
        now_ns_ = now_ns;
        r.worker->advance_to(now_ns_);
        if (!r.inbox.empty()) {
            auto letter = std::move(r.inbox.front());
            r.inbox.pop_front();
            occupy(r, letter.bytes);
            r.agent->on_message(letter.from, std::move(letter.message), now_ns_);
        }
        if (!r.inbox.empty() && ++r.unanswered < most_unanswered) return flush(r, now_ns_);
        r.unanswered = 0;
        r.agent->tick(now_ns_);
        if (&r == ranks_.data()) conduct(r);
        flush(r, now_ns_);
        set_wake(r, now_ns_);
    }
    /// Makes sure that the rank has an event when it can and will act, and not much more than one.
    void queue_next(SimulatedRank& r) {
        auto const wanted_ns = std::max(r.inbox.empty() ? r.wake_ns : r.free_ns, r.free_ns);
        if (wanted_ns >= r.queued_ns) return;
        r.queued_ns = wanted_ns;
        events_.push({.at_ns = wanted_ns, .order = ++order_, .rank = static_cast<std::int32_t>(&r - ranks_.data())});
    }
    void conduct(SimulatedRank& r) {
        conductor_->tick(now_ns_);
        r.agent->tick(now_ns_);
        if (!r.worker->status().is_dry) return;
        r.agent->tick(now_ns_); // if the conductor stops the run now, this rank's answer may be the last one
        conductor_->tick(now_ns_);
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
        Rank const from{static_cast<std::int32_t>(&r - ranks_.data())};
        for (auto& outgoing : r.agent->take_outgoing()) {
            auto const bytes = encoded_size(outgoing.message);
            occupy(r, bytes);
            ++messages_;
            bytes_ += bytes;
            events_.push({.at_ns = r.free_ns + options_.latency_ns,
                          .order = ++order_,
                          .rank = outgoing.to.value,
                          .letter = mail_.put({from, std::move(outgoing.message), bytes})});
        }
    }
    /// The next time at which the rank may have something to say by itself. A real rank looks every millisecond, or
    /// when a thread rings because it has no work, which may be soon if its nodes are small.
    void set_wake(SimulatedRank& r, std::int64_t now_ns) const {
        auto const status = r.worker->status();
        auto wake = r.agent->next_wake_ns();
        if (!status.is_dry) wake = std::min(wake, r.worker->next_look_ns());
        if (&r == ranks_.data()) wake = std::min(wake, now_ns + 100'000'000); // the conductor's limits
        r.wake_ns = std::max(wake, now_ns + 100'000);
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
    Mail mail_;
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
