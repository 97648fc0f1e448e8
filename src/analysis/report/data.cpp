#include "data.hpp"

#include "funnel.hpp"
#include "html.hpp"
#include "progress.hpp"

#include "espalier/analysis/table.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <variant>

namespace espalier::analysis::report {
namespace {

using base::Json;

constexpr std::size_t most_ranks = 1024; ///< that get a line of their own

Json funnel_json(Contents const& contents) {
    auto const rows = contents.funnel.empty() ? plain_funnel(contents.summary.record) : contents.funnel;
    auto out = Json::array();
    for (auto const& row : rows)
        out.push_back({{"name", row.name}, {"count", row.count}, {"is_kept", row.is_kept}, {"note", row.note}});
    return out;
}

template <class T>
Json known(std::optional<T> const& value) {
    return value ? Json(*value) : Json();
}

Json progress_json(RunSummary const& summary) {
    auto const points = progress_of(summary);
    auto const column = [&](auto member) {
        auto values = Json::array();
        for (auto const& point : points) values.push_back(std::invoke(member, point));
        return values;
    };
    using Point = ProgressPoint;
    auto const first = first_result(points, summary.record);
    return {{"seconds", column(&Point::seconds)},
            {"nodes", column(&Point::nodes)},
            {"rate", column(&Point::rate)},
            {"mean_rate", column(&Point::mean_rate)},
            {"results", column(&Point::results)},
            {"best", column([](Point const& point) { return known(point.best); })},
            {"queued", column([](Point const& point) { return known(point.queued); })},
            {"idle", column([](Point const& point) { return known(point.idle_threads); })},
            {"first", first
                          ? Json{{"seconds", first->seconds}, {"cost", first->cost}, {"is_stamped", first->is_stamped}}
                          : Json()}};
}

Json cost_json(Contents const& contents) {
    return {{"unit", contents.cost.unit},
            {"source", contents.cost.source},
            {"input", known(contents.cost.input)},
            {"is_counting", contents.summary.record.info.is_counting}};
}

Json efficiency_json(Efficiency const& e) {
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
            {"serial_region", e.serial_region},
            {"core_share", e.core_share}};
}

/// What `espalier trace RUN --by phase` prints.
Json where_json(Analysis const& trace) {
    auto const phases = table_by(trace, "phase", 0);
    auto out = Json::array();
    for (auto const& row : phases.rows) {
        Json phase;
        for (std::size_t i = 0; i < row.size(); ++i)
            std::visit([&](auto const& cell) { phase[phases.columns[i]] = cell; }, row[i]);
        out.push_back(std::move(phase));
    }
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

/// A byte per share: 256 ranks x 512 bins x 4 kinds stay below a megabyte.
std::string packed(std::vector<float> const& shares) {
    std::vector<std::uint8_t> bytes(shares.size());
    std::ranges::transform(shares, bytes.begin(), [](float share) {
        return static_cast<std::uint8_t>(std::lround(255 * std::clamp(share, 0.0f, 1.0f)));
    });
    return base64(bytes);
}

int threads_of(Analysis const& trace, Timeline::Row const& row) {
    std::size_t threads = 0;
    for (auto const& rank : trace.ranks)
        if (rank.rank >= row.first_rank && rank.rank <= row.last_rank) threads += rank.threads.size();
    return static_cast<int>(threads);
}

/// How many threads of all ranks did it, bin by bin.
Json threads_in(Analysis const& trace, std::vector<float> Timeline::Row::*shares) {
    std::vector<double> sums(trace.timeline.busy.size());
    for (auto const& row : trace.timeline.rows) {
        auto const threads = threads_of(trace, row);
        auto const& values = row.*shares;
        for (std::size_t i = 0; i < std::min(sums.size(), values.size()); ++i)
            sums[i] += threads * static_cast<double>(values[i]);
    }
    for (auto& sum : sums) sum = std::round(1e4 * sum) / 1e4; // shorter in the file
    return sums;
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
    return {{"bin", trace.timeline.bin},
            {"busy", trace.timeline.busy},
            {"query", threads_in(trace, &Timeline::Row::query)},
            {"verify", threads_in(trace, &Timeline::Row::verify)},
            {"rows", rows}};
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
        {"has_cores", has_cores(trace.efficiency)},
        {"verdict", verdict_text(trace)},
        {"where", where_json(trace)},
        {"useful", trace.useful()},
        {"ranks",
         rows_of(std::vector(trace.ranks.begin(), trace.ranks.begin() + static_cast<std::ptrdiff_t>(shown)), rank_row)},
        {"left_out_ranks", trace.ranks.size() - shown},
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

Json data_of(Contents const& contents) {
    return {{"funnel", funnel_json(contents)},
            {"progress", progress_json(contents.summary)},
            {"cost", cost_json(contents)},
            {"trace", contents.trace != nullptr ? trace_json(*contents.trace) : Json()},
            {"trace_note", contents.trace_note.empty() ? "The run left no trace." : contents.trace_note},
            {"scaling", contents.scaling},
            {"scaling_note", contents.scaling_note}};
}

} // namespace espalier::analysis::report
