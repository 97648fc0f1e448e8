#include "hints.hpp"

#include "espalier/base/policy.hpp"
#include "espalier/base/units.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace espalier::analysis {
namespace {

using Hints = std::vector<Hint>;

/// Thread seconds in these bins in which threads had nothing to do.
double idle_in(Analysis const& a, std::size_t from, std::size_t to) {
    double idle = 0;
    for (auto i = from; i < std::min(to, a.timeline.busy.size()); ++i) idle += a.threads() - a.timeline.busy[i];
    return std::max(0.0, idle * a.timeline.bin);
}
/// Thread seconds of a share of the run.
double of_all(Analysis const& a, double share) { return std::max(0.0, share) * a.threads() * a.runtime; }

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string balance_remedy(std::string const& policy) {
    for (auto const& row : base::policies)
        if (row.name == policy && !row.ranks_share)
            return fmt::format("cluster.policy is {}, which never moves work between ranks: use {}", policy,
                               base::name(base::Policy::hybrid));
    return "lower cluster.budget";
}

/// Past the last bin in which more than this many threads were busy.
std::size_t last_above(Analysis const& a, double threads) {
    for (std::size_t i = a.timeline.busy.size(); i > 0; --i)
        if (a.timeline.busy[i - 1] > threads) return i;
    return 0;
}

/// Ranks that did next to nothing in these bins.
int idle_ranks(Analysis const& a, std::size_t from, std::size_t to) {
    int idle = 0;
    for (auto const& row : a.timeline.rows) {
        double sum = 0;
        for (auto i = from; i < std::min(to, row.busy.size()); ++i) sum += static_cast<double>(row.busy[i]);
        if (sum < 0.1 * static_cast<double>(to - from)) idle += row.last_rank - row.first_rank + 1;
    }
    return idle;
}

/// After the last time that more than half of the threads were busy, the others wait for somebody; then nobody is left.
void hint_tail(Analysis const& a, std::string const& policy, Hints& hints) {
    auto const from = last_above(a, 0.5 * a.threads() + 0.05), to = last_above(a, 0.1);
    if (a.threads() < 2 || from == 0 || to <= from) return;
    auto const start = static_cast<double>(from) * a.timeline.bin;
    auto const share = static_cast<double>(to - from) * a.timeline.bin / a.runtime;
    if (share < 0.05) return;
    auto const last = std::ranges::max_element(a.longest, {}, &Subtree::end);
    auto const one =
        last != a.longest.end() && last->end >= a.start + start
            ? fmt::format(" for one subtree of rank {} ({} of work)", last->rank, base::human_duration(last->useful))
            : std::string(" for the others");
    auto const who = a.ranks.size() > 1 ? fmt::format("{} of {} ranks waited", idle_ranks(a, from, to), a.ranks.size())
                                        : fmt::format("most of the {} threads waited", a.threads());
    hints.push_back(
        {fmt::format("in the last {} of the time{} {}{}: {}", percent(share),
                     to < a.timeline.busy.size() ? " that there was work" : "", who, one, balance_remedy(policy)),
         idle_in(a, from, to)});
}

void hint_end(Analysis const& a, Hints& hints) {
    auto const to = last_above(a, 0.1);
    auto const share = 1 - static_cast<double>(to) * a.timeline.bin / a.runtime;
    if (to > 0 && share >= 0.05)
        hints.push_back({fmt::format("in the last {} of the time nobody had work: the run was ending", percent(share)),
                         of_all(a, share)});
}

void hint_start(Analysis const& a, Hints& hints) {
    auto const half = 0.5 * a.threads();
    std::size_t first = 0;
    while (first < a.timeline.busy.size() && a.timeline.busy[first] < half) ++first;
    auto const share = static_cast<double>(first) * a.timeline.bin / a.runtime;
    if (a.threads() < 2 || share < 0.1 || first == a.timeline.busy.size()) return;
    hints.push_back({fmt::format("it took {} ({} of the time) until half of the threads had work: the top of the tree "
                                 "is narrow, or the run is too short for so many threads",
                                 base::human_duration(share * a.runtime), percent(share)),
                     idle_in(a, 0, first)});
}

void hint_balance(Analysis const& a, std::string const& policy, Hints& hints) {
    if (a.efficiency.load_balance >= 0.85 || a.threads() < 2) return;
    auto const most = std::ranges::max_element(a.ranks, {}, [](RankTimes const& rank) { return rank.busy(); });
    hints.push_back({fmt::format("load balance is {}: rank {} worked {}, the mean is {}; {}",
                                 percent(a.efficiency.load_balance), most->rank, base::human_duration(most->busy()),
                                 base::human_duration(a.busy() / a.threads()), balance_remedy(policy)),
                     of_all(a, a.efficiency.communication - a.efficiency.parallel)});
}

Hint hint_cores(Analysis const& a) {
    auto const share = a.efficiency.core_share;
    return {fmt::format("working threads had a core only {} of the time: there are more threads than cores, or others "
                        "use the machine; use fewer ranks or lower search.threads",
                        percent(share)),
            (1 - share) * a.busy()};
}

void hint_master(Analysis const& a, Hints& hints) {
    auto const master = std::ranges::find(a.ranks, 0, &RankTimes::rank);
    if (master == a.ranks.end() || a.ranks.size() < 2) return;
    auto const& c = master->communication;
    auto const share = (c.sending + c.receiving) / a.runtime;
    if (share > 0.5)
        hints.push_back({fmt::format("the master spent {} of the time on messages: raise cluster.budget, or lower "
                                     "cluster.group so that groups have masters of their own",
                                     percent(share)),
                         of_all(a, 1 - a.efficiency.process_communication)});
}

void hint_files(Analysis const& a, Hints& hints) {
    for (auto const& rank : a.ranks)
        if (rank.communication.writing > 0.05 * a.runtime && rank.communication.writing > 0.5)
            return hints.push_back({fmt::format("rank {} spent {} of the time writing its trace: put results.path on a "
                                                "faster disk, or lower trace.limit",
                                                rank.rank, percent(rank.communication.writing / a.runtime)),
                                    std::min(of_all(a, 1 - a.efficiency.serial_region),
                                             rank.communication.writing * static_cast<double>(rank.threads.size()))});
}

void hint_solver(Analysis const& a, Hints& hints) {
    double queries = 0;
    for (auto const& rank : a.ranks) queries += static_cast<double>(rank.threads.size()) * rank.in(Activity::query);
    if (queries > 0.5 * a.busy())
        hints.push_back({fmt::format("{} of the busy time went to the solver: problem.prune: native does without it",
                                     percent(queries / a.busy())),
                         queries});
}

void hint_contention(Analysis const& a, Hints& hints) {
    if (a.contention.size() < 2 || a.contention.front().threads != 1) return;
    auto const mean = [](Contention const& row) { return row.cpu_seconds / static_cast<double>(row.queries); };
    auto const& alone = a.contention.front();
    auto const& crowd = a.contention.back();
    if (alone.queries < 20 || crowd.queries < 20 || mean(crowd) <= 1.25 * mean(alone)) return;
    double gain = 0;
    for (auto const& row : a.contention)
        gain += std::max(0.0, row.cpu_seconds - static_cast<double>(row.queries) * mean(alone));
    hints.push_back({fmt::format("a solver query takes {:.2f} times as much CPU time when {} threads are in one: they "
                                 "compete for memory or the allocator; more ranks with fewer threads may help",
                                 mean(crowd) / mean(alone), crowd.threads),
                     gain});
}

} // namespace

std::vector<Hint> hints_of(Analysis const& analysis, std::string const& policy) {
    if (!has_cores(analysis.efficiency)) return {hint_cores(analysis)};
    Hints hints;
    hint_tail(analysis, policy, hints);
    hint_end(analysis, hints);
    hint_start(analysis, hints);
    hint_balance(analysis, policy, hints);
    hint_master(analysis, hints);
    hint_files(analysis, hints);
    hint_solver(analysis, hints);
    hint_contention(analysis, hints);
    if (analysis.runtime < 0.2)
        hints.push_back({fmt::format("the run is short ({}): starting and ending it weigh more than the search",
                                     base::human_duration(analysis.runtime))});
    if (hints.empty())
        hints.push_back({fmt::format("nothing stands out: the threads were useful {} of the time",
                                     percent(analysis.efficiency.parallel))});
    std::ranges::stable_sort(hints, std::ranges::greater{}, &Hint::gain);
    return hints;
}

} // namespace espalier::analysis
