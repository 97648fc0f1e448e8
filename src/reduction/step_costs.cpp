#include "espalier/reduction/lowered.hpp"

#include <algorithm>

namespace espalier::reduction {
namespace {

struct Edge {
    int from = 0;
    int to = 0;
    double bytes = 0;
};

/// What the messages of one round put on the links of every instance of every level.
class Round {
public:
    explicit Round(Hierarchy const& hierarchy) : hierarchy_(hierarchy) {
        int instances = 1;
        for (auto const& level : hierarchy) {
            instances *= level.size;
            out_.emplace_back(static_cast<std::size_t>(instances), 0.0);
            in_.emplace_back(static_cast<std::size_t>(instances), 0.0);
            largest_.push_back(0);
        }
    }
    /// A message leaves every instance that holds its sender and not its receiver.
    void add(Edge const& edge) {
        auto from = edge.from, to = edge.to;
        for (auto level = hierarchy_.size(); level-- > 0 && from != to;) {
            out_[level][static_cast<std::size_t>(from)] += edge.bytes;
            in_[level][static_cast<std::size_t>(to)] += edge.bytes;
            largest_[level] = std::max(largest_[level], edge.bytes);
            from /= hierarchy_[level].size;
            to /= hierarchy_[level].size;
            if (from == to) latency_ = std::max(latency_, hierarchy_[level].latency);
        }
    }
    [[nodiscard]] double busiest(std::size_t level) const {
        return std::max(std::ranges::max(out_[level]), std::ranges::max(in_[level]));
    }
    [[nodiscard]] double seconds() const {
        double longest = 0;
        for (std::size_t level = 0; level < hierarchy_.size(); ++level) {
            auto const& links = hierarchy_[level];
            longest = std::max(
                {longest, busiest(level) / (links.links * links.bandwidth), largest_[level] / links.bandwidth});
        }
        return longest + latency_;
    }

private:
    Hierarchy const& hierarchy_;
    std::vector<std::vector<double>> out_, in_; ///< by level and instance
    std::vector<double> largest_;
    double latency_ = 0;
};

struct Timed {
    double seconds = 0;
    std::vector<double> level_bytes;
};

void add(Timed& total, Round const& round, double times, Hierarchy const& hierarchy) {
    total.seconds += times * round.seconds();
    total.level_bytes.resize(hierarchy.size(), 0);
    for (std::size_t level = 0; level < hierarchy.size(); ++level)
        total.level_bytes[level] += times * round.busiest(level);
}

/// Rounds of a ring and what each message carries; `bytes` is what a member brings. A reduction or a broadcast is a
/// chain, cut into so many pieces that filling it hardly counts: its bytes pass every edge once.
struct RingPlan {
    double rounds = 0;
    double bytes = 0;
    bool is_open = false;
};
RingPlan ring_plan(Collective collective, double n, double bytes) {
    switch (collective) {
    case Collective::all_reduce:
        return {2 * (n - 1), bytes / n, false};
    case Collective::reduce_scatter:
        return {n - 1, bytes / n, false};
    case Collective::all_gather:
        return {n - 1, bytes, false};
    default:
        return {n - 1, bytes / (n - 1), true};
    }
}

/// Groups of one step have the same size, and members bring the same amount.
Timed ring(LoweredStep const& step, Hierarchy const& hierarchy, double bytes) {
    auto const plan = ring_plan(step.collective, static_cast<double>(step.groups.front().size()), bytes);
    Round round(hierarchy);
    for (auto const& group : step.groups)
        for (std::size_t i = 0; i + (plan.is_open ? 1 : 0) < group.size(); ++i) {
            auto const next = group[(i + 1) % group.size()];
            bool const is_towards_first = step.collective == Collective::reduce;
            round.add({is_towards_first ? next : group[i], is_towards_first ? group[i] : next, plan.bytes});
        }
    Timed total;
    add(total, round, plan.rounds, hierarchy);
    return total;
}

/// Halves that talk to each other, at distances 1, 2, 4, ...: binomial trees for Reduce and Broadcast, recursive
/// doubling or halving for the others. Members beyond a power of two take part as far as they have a partner; that is
/// an estimate.
Timed tree(LoweredStep const& step, Hierarchy const& hierarchy, double bytes) {
    auto const n = step.groups.front().size();
    auto const collective = step.collective;
    Timed total;
    for (std::size_t distance = 1; distance < n; distance *= 2) {
        auto const share = static_cast<double>(distance);
        auto const carried = collective == Collective::reduce_scatter ? bytes * share / static_cast<double>(n)
                             : collective == Collective::all_gather   ? bytes * share
                                                                      : bytes;
        bool const is_one_way = collective == Collective::reduce || collective == Collective::broadcast;
        Round round(hierarchy);
        for (auto const& group : step.groups)
            for (std::size_t i = 0; i < n; ++i) {
                auto const partner = i ^ distance;
                if (partner >= n || (is_one_way && (i % (2 * distance) != 0))) continue;
                bool const is_up = collective == Collective::reduce;
                if (is_one_way)
                    round.add({group[is_up ? partner : i], group[is_up ? i : partner], carried});
                else
                    round.add({group[i], group[partner], carried});
            }
        add(total, round, 1, hierarchy);
    }
    return total;
}

/// An AllReduce may also halve and double: a ReduceScatter and an AllGather of trees, which large payloads prefer.
Timed quickest_tree(LoweredStep const& step, Hierarchy const& hierarchy, double bytes) {
    auto const direct = tree(step, hierarchy, bytes);
    if (step.collective != Collective::all_reduce) return direct;
    auto halves = tree({Collective::reduce_scatter, step.groups}, hierarchy, bytes);
    auto const doubles =
        tree({Collective::all_gather, step.groups}, hierarchy, bytes / static_cast<double>(step.groups.front().size()));
    halves.seconds += doubles.seconds;
    for (std::size_t level = 0; level < hierarchy.size(); ++level)
        halves.level_bytes[level] += doubles.level_bytes[level];
    return halves.seconds < direct.seconds ? halves : direct;
}

/// Share of the payload that each device holds.
void change_held(LoweredStep const& step, std::vector<double>& held) {
    for (auto const& group : step.groups) {
        auto const n = static_cast<double>(group.size());
        auto const first = held[static_cast<std::size_t>(group.front())];
        for (std::size_t i = 0; i < group.size(); ++i) {
            auto& own = held[static_cast<std::size_t>(group[i])];
            switch (step.collective) {
            case Collective::all_reduce:
                break;
            case Collective::reduce:
                own = i == 0 ? own : 0;
                break;
            case Collective::reduce_scatter:
                own /= n;
                break;
            case Collective::all_gather:
                own *= n;
                break;
            case Collective::broadcast:
                own = first;
                break;
            }
        }
    }
}

} // namespace

std::vector<StepCost> step_costs(Lowered const& program, Hierarchy const& hierarchy, double payload_bytes,
                                 double start_share) {
    std::vector<double> held(static_cast<std::size_t>(devices(hierarchy)), start_share);
    std::vector<StepCost> costs;
    for (auto const& step : program) {
        if (step.groups.empty()) {
            costs.push_back({.level_bytes = std::vector<double>(hierarchy.size(), 0)});
            continue;
        }
        auto const share = held[static_cast<std::size_t>(step.groups.front().front())];
        auto const by_ring = ring(step, hierarchy, share * payload_bytes);
        auto const by_tree = quickest_tree(step, hierarchy, share * payload_bytes);
        bool const is_ring = by_ring.seconds <= by_tree.seconds;
        costs.push_back({is_ring ? by_ring.seconds : by_tree.seconds, is_ring,
                         is_ring ? by_ring.level_bytes : by_tree.level_bytes, share});
        change_held(step, held);
    }
    return costs;
}

double pipelined_seconds(Lowered const& program, Hierarchy const& hierarchy, double payload_bytes, int segments,
                         double start_share) {
    auto const costs = step_costs(program, hierarchy, payload_bytes / segments, start_share);
    double slowest = 0;
    std::vector<double> level_seconds(hierarchy.size(), 0);
    for (auto const& cost : costs) {
        slowest = std::max(slowest, cost.seconds);
        for (std::size_t level = 0; level < hierarchy.size(); ++level)
            level_seconds[level] += cost.level_bytes[level] / (hierarchy[level].links * hierarchy[level].bandwidth);
    }
    auto const bottleneck = std::max(slowest, std::ranges::max(level_seconds));
    return seconds(costs) + (segments - 1) * bottleneck;
}

double seconds(std::vector<StepCost> const& costs) {
    double sum = 0;
    for (auto const& cost : costs) sum += cost.seconds;
    return sum;
}

} // namespace espalier::reduction
