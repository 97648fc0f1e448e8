#include "espalier/analysis/table.hpp"

#include "phases.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>

namespace espalier::analysis {
namespace {

using Row = std::vector<Table::Cell>;

std::vector<std::string> const time_columns{"busy_share", "useful", "expand", "query", "verify", "wait", "other"};

void add_times(Row& row, Analysis const& a, ThreadTimes const& t) {
    row.emplace_back(a.runtime > 0 ? t.busy() / a.runtime : 0);
    row.emplace_back(t.useful);
    for (auto const time : t.in) row.emplace_back(time);
}
void add_counts(Row& row, ThreadTimes const& t) {
    for (auto const count : {t.chunks, t.nodes, t.prunes, t.queries}) row.emplace_back(count);
}

/// Means of times, sums of counts.
ThreadTimes joined(std::vector<ThreadTimes> const& threads) {
    ThreadTimes sum;
    auto const n = static_cast<double>(std::max<std::size_t>(threads.size(), 1));
    for (auto const& t : threads) {
        for (std::size_t i = 0; i < sum.in.size(); ++i) sum.in[i] += t.in[i] / n;
        sum.useful += t.useful / n;
        sum.chunks += t.chunks, sum.nodes += t.nodes, sum.prunes += t.prunes, sum.queries += t.queries;
    }
    return sum;
}

std::vector<std::string> columns(std::vector<std::string> first, std::vector<std::string> const& last) {
    first.insert(first.end(), time_columns.begin(), time_columns.end());
    first.insert(first.end(), {"chunks", "nodes", "prunes", "queries"});
    first.insert(first.end(), last.begin(), last.end());
    return first;
}

std::vector<std::string> const communication_columns{"working", "mpi",      "io",        "commit",
                                                     "sent",    "received", "bytes_sent"};
void add_communication(Row& row, double working, Communication const& c) {
    for (auto const time : {working, c.sending + c.receiving, c.writing, c.committing}) row.emplace_back(time);
    for (auto const count : {c.messages_sent, c.messages_received, c.bytes_sent}) row.emplace_back(count);
}

Table by_rank(Analysis const& a) {
    Table table{columns({"name", "host", "threads"}, communication_columns), {}};
    for (auto const& rank : a.ranks) {
        Row row{fmt::format("rank {}", rank.rank), rank.host, std::uint64_t{rank.threads.size()}};
        auto const times = joined(rank.threads);
        add_times(row, a, times);
        add_counts(row, times);
        add_communication(row, rank.working, rank.communication);
        table.rows.push_back(std::move(row));
    }
    return table;
}

Table by_thread(Analysis const& a) {
    Table table{columns({"name", "host"}, {}), {}};
    for (auto const& rank : a.ranks)
        for (auto const& thread : rank.threads) {
            Row row{fmt::format("rank {} thread {}", rank.rank, thread.thread), rank.host};
            add_times(row, a, thread);
            add_counts(row, thread);
            table.rows.push_back(std::move(row));
        }
    return table;
}

Table by_node(Analysis const& a) {
    struct Host {
        std::uint64_t ranks = 0;
        std::vector<ThreadTimes> threads;
        double working = 0;
        Communication communication;
    };
    std::map<std::string, Host> hosts;
    for (auto const& rank : a.ranks) {
        auto& host = hosts[rank.host];
        ++host.ranks;
        host.threads.insert(host.threads.end(), rank.threads.begin(), rank.threads.end());
        host.working += rank.working;
        auto& sum = host.communication;
        auto const& c = rank.communication;
        sum.sending += c.sending, sum.receiving += c.receiving, sum.writing += c.writing;
        sum.committing += c.committing, sum.messages_sent += c.messages_sent;
        sum.messages_received += c.messages_received, sum.bytes_sent += c.bytes_sent;
    }
    Table table{columns({"name", "ranks", "threads"}, communication_columns), {}};
    for (auto const& [name, host] : hosts) {
        Row row{name, host.ranks, std::uint64_t{host.threads.size()}};
        auto const times = joined(host.threads);
        add_times(row, a, times);
        add_counts(row, times);
        add_communication(row, host.working / static_cast<double>(host.ranks), host.communication);
        table.rows.push_back(std::move(row));
    }
    return table;
}

Table by_phase(Analysis const& a) {
    Table table{{"name", "of", "level", "share", "min", "mean", "max", "max_rank", "samples"}, {}};
    for (auto const& phase : phases_of(a))
        table.rows.push_back({phase.name,
                              std::string(phase.is_estimated ? "sample"
                                          : phase.is_sum     ? "sum"
                                          : phase.is_own     ? "communicating thread"
                                                             : "thread"),
                              static_cast<std::uint64_t>(phase.level), a.runtime > 0 ? phase.mean / a.runtime : 0.0,
                              phase.min, phase.mean, phase.max, fmt::format("rank {}", phase.max_rank),
                              static_cast<std::uint64_t>(std::max<std::int64_t>(phase.samples, 0))});
    return table;
}

} // namespace

Table table_by(Analysis const& analysis, std::string const& what, std::size_t top) {
    if (what == "phase") return by_phase(analysis);
    auto table = what == "rank" ? by_rank(analysis) : what == "node" ? by_node(analysis) : by_thread(analysis);
    auto const at = static_cast<std::size_t>(std::ranges::find(table.columns, "useful") - table.columns.begin());
    std::ranges::stable_sort(table.rows, {}, [&](Row const& row) { return std::get<double>(row[at]); });
    if (top > 0 && table.rows.size() > top) table.rows.resize(top);
    return table;
}

} // namespace espalier::analysis
