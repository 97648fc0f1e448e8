#include "data.hpp"

#include "funnel.hpp"
#include "html.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace espalier::analysis::report {
namespace {

using base::Json;

constexpr std::size_t most_ranks = 1024; ///< that get a line of their own

Json funnel_json(Contents const& contents) {
    auto steps = steps_of(contents.funnel);
    if (steps.empty()) steps = steps_of(contents.summary.record);
    auto out = Json::array();
    for (auto const& step : steps)
        out.push_back({{"name", step.name}, {"count", step.count}, {"is_kept", step.is_kept}, {"note", step.note}});
    return out;
}

Json progress_json(std::vector<base::ProgressRecord> const& records) {
    auto const column = [&](auto member) {
        auto values = Json::array();
        for (auto const& record : records) values.push_back(std::invoke(member, record));
        return values;
    };
    using Record = base::ProgressRecord;
    auto const best = [](Record const& record) { return std::isfinite(record.best) ? Json(record.best) : Json(); };
    return {{"seconds", column(&Record::elapsed_s)}, {"nodes", column(&Record::nodes)},
            {"rate", column(&Record::nodes_per_s)},  {"best", column(best)},
            {"results", column(&Record::results)},   {"queued", column(&Record::queued)},
            {"idle", column(&Record::idle_threads)}};
}

Json cost_json(Contents const& contents) {
    auto const unit = cost_unit(contents.results);
    auto const is_there = contents.input.is_object() && contents.input.contains("cost_us");
    return {{"unit", is_there ? "us" : unit},
            {"input", is_there ? contents.input["cost_us"] : Json()},
            {"is_counting", contents.summary.record.info.is_counting}};
}

Json efficiency_json(Efficiency const& e) {
    auto const known = [](std::optional<double> const& value) { return value ? Json(*value) : Json(); };
    return {{"parallel", e.parallel},
            {"load_balance", e.load_balance},
            {"communication", e.communication},
            {"serialisation", known(e.serialisation)},
            {"transfer", known(e.transfer)},
            {"mpi", e.mpi},
            {"mpi_load_balance", e.mpi_load_balance},
            {"mpi_communication", e.mpi_communication},
            {"openmp", e.openmp},
            {"openmp_load_balance", e.openmp_load_balance},
            {"openmp_communication", e.openmp_communication},
            {"process", e.process},
            {"process_load_balance", e.process_load_balance},
            {"process_communication", e.process_communication},
            {"thread", e.thread},
            {"openmp_region", e.openmp_region},
            {"serial_region", e.serial_region}};
}

/// One quantity over all ranks. The mean is over threads: a rank counts as often as it has threads.
Json where_row(std::string_view name, std::vector<RankTimes> const& ranks,
               std::function<double(RankTimes const&)> const& value) {
    auto const [least, most] = std::ranges::minmax_element(ranks, {}, value);
    double sum = 0, threads = 0;
    for (auto const& rank : ranks) {
        sum += value(rank) * static_cast<double>(rank.threads.size());
        threads += static_cast<double>(rank.threads.size());
    }
    return {{"name", name},
            {"min", value(*least)},
            {"min_rank", least->rank},
            {"mean", sum / std::max(1.0, threads)},
            {"max", value(*most)},
            {"max_rank", most->rank}};
}

Json where_json(std::vector<RankTimes> const& ranks) {
    auto out = Json::array();
    if (ranks.empty()) return out;
    out.push_back(where_row("useful (CPU)", ranks, [](auto const& rank) { return rank.useful(); }));
    for (std::size_t i = 0; i < activity_names.size(); ++i)
        out.push_back(
            where_row(activity_names[i], ranks, [i](auto const& rank) { return rank.in(static_cast<Activity>(i)); }));
    auto const own = [&](std::string_view name, double Communication::*time) {
        out.push_back(where_row(name, ranks, [time](auto const& rank) { return rank.communication.*time; }));
    };
    own("sending (own thread)", &Communication::sending);
    own("receiving (own thread)", &Communication::receiving);
    own("committing (own thread)", &Communication::committing);
    own("writing (own thread)", &Communication::writing);
    return out;
}

/// In the order of the columns in page/sections.js.
Json rank_row(RankTimes const& rank) {
    std::uint64_t chunks = 0, nodes = 0;
    for (auto const& thread : rank.threads) {
        chunks += thread.chunks;
        nodes += thread.nodes;
    }
    Json row{rank.rank, rank.host, rank.threads.size(), rank.useful()};
    for (std::size_t i = 0; i < activity_names.size(); ++i) row.push_back(rank.in(static_cast<Activity>(i)));
    for (auto const time : {rank.communication.sending, rank.communication.receiving, rank.communication.writing})
        row.push_back(time);
    row.push_back(chunks);
    row.push_back(nodes);
    return row;
}

/// What a problem says of the time within `expand` is named `expand: ...` and counts twice.
bool is_part(std::string const& name) { return name.starts_with("expand: "); }

Json outcomes_json(std::vector<RankTimes> const& ranks) {
    std::vector<std::pair<std::string, double>> sums;
    for (auto const& rank : ranks)
        for (auto const& outcome : rank.outcomes) {
            auto at = std::ranges::find(sums, outcome.name, [](auto const& sum) { return sum.first; });
            if (at == sums.end()) at = sums.insert(sums.end(), {outcome.name, 0});
            at->second += 1e-9 * static_cast<double>(outcome.ns);
        }
    auto out = Json::array();
    for (auto const& [name, seconds] : sums)
        out.push_back({{"name", name}, {"seconds", seconds}, {"is_part", is_part(name)}});
    return out;
}

/// A byte a share: 256 ranks x 512 bins x 4 kinds stay below a megabyte.
std::string packed(std::vector<float> const& shares) {
    std::vector<std::uint8_t> bytes(shares.size());
    std::ranges::transform(shares, bytes.begin(), [](float share) {
        return static_cast<std::uint8_t>(std::lround(255 * std::clamp(share, 0.0f, 1.0f)));
    });
    return base64(bytes);
}

Json timeline_json(Analysis const& trace) {
    auto rows = Json::array();
    for (auto const& row : trace.timeline.rows) {
        auto const rank = std::ranges::find(trace.ranks, row.first_rank, &RankTimes::rank);
        auto const is_one = row.first_rank == row.last_rank && rank != trace.ranks.end();
        rows.push_back({{"first", row.first_rank},
                        {"last", row.last_rank},
                        {"host", is_one ? rank->host : std::string()},
                        {"busy", packed(row.busy)},
                        {"query", packed(row.query)},
                        {"verify", packed(row.verify)},
                        {"wait", packed(row.wait)}});
    }
    return {{"bin", trace.timeline.bin}, {"busy", trace.timeline.busy}, {"rows", rows}};
}

template <class T, class Row>
Json rows_of(std::vector<T> const& values, Row const& row) {
    auto out = Json::array();
    for (auto const& value : values) out.push_back(row(value));
    return out;
}

Json trace_json(Analysis const& trace) {
    auto const shown = std::min(trace.ranks.size(), most_ranks);
    return {
        {"start", trace.start},
        {"runtime", trace.runtime},
        {"threads", trace.threads()},
        {"all_ranks", trace.ranks.size()},
        {"efficiency", efficiency_json(trace.efficiency)},
        {"where", where_json(trace.ranks)},
        {"ranks",
         rows_of(std::vector(trace.ranks.begin(), trace.ranks.begin() + static_cast<std::ptrdiff_t>(shown)), rank_row)},
        {"left_out_ranks", trace.ranks.size() - shown},
        {"outcomes", outcomes_json(trace.ranks)},
        {"longest", rows_of(trace.longest,
                            [](Subtree const& s) {
                                return Json{s.rank, s.thread, s.start, s.end, s.useful, s.chunks, s.nodes, s.depth};
                            })},
        {"sizes", rows_of(trace.sizes,
                          [](SizeClass const& c) {
                              return Json{c.from_us, c.subtrees, c.useful};
                          })},
        {"contention", rows_of(trace.contention,
                               [](Contention const& c) {
                                   return Json{c.threads, c.queries, c.seconds, c.cpu_seconds};
                               })},
        {"timeline", timeline_json(trace)},
        {"remarks", trace.remarks}};
}

} // namespace

std::string cost_unit(Json const& results) {
    if (!results.is_array() || results.empty()) return "";
    return results.front().contains("cost_us") || results.front().contains("predicted_us") ? "us" : "";
}

Json data_of(Contents const& contents) {
    return {{"funnel", funnel_json(contents)},
            {"progress", progress_json(contents.summary.record.progress)},
            {"cost", cost_json(contents)},
            {"trace", contents.trace != nullptr ? trace_json(*contents.trace) : Json()},
            {"trace_note", contents.trace_note.empty() ? "The run left no trace." : contents.trace_note},
            {"scaling", contents.scaling},
            {"scaling_note", contents.scaling_note}};
}

} // namespace espalier::analysis::report
