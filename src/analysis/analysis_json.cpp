#include "espalier/analysis/analysis.hpp"
#include "espalier/analysis/table.hpp"

namespace espalier::analysis {
namespace {

using base::Json;

Json optional(std::optional<double> const& value) { return value ? Json(*value) : Json(nullptr); }

Json to_json(Efficiency const& e) {
    return {{"parallel", e.parallel},
            {"load_balance", e.load_balance},
            {"communication", e.communication},
            {"serialisation", optional(e.serialisation)},
            {"transfer", optional(e.transfer)},
            {"multiplicative",
             {{"mpi", e.mpi},
              {"mpi_load_balance", e.mpi_load_balance},
              {"mpi_communication", e.mpi_communication},
              {"openmp", e.openmp},
              {"openmp_load_balance", e.openmp_load_balance},
              {"openmp_communication", e.openmp_communication}}},
            {"additive",
             {{"process", e.process},
              {"process_load_balance", e.process_load_balance},
              {"process_communication", e.process_communication},
              {"thread", e.thread},
              {"openmp_region", e.openmp_region},
              {"serial_region", e.serial_region}}},
            {"core_share", e.core_share}};
}

Json to_json(ThreadTimes const& thread) {
    Json out{{"thread", thread.thread},  {"busy", thread.busy()}, {"useful", thread.useful},
             {"chunks", thread.chunks},  {"nodes", thread.nodes}, {"prunes", thread.prunes},
             {"queries", thread.queries}};
    for (std::size_t i = 0; i < activity_names.size(); ++i) out[std::string(activity_names[i])] = thread.in[i];
    return out;
}

Json to_json(RankTimes const& rank) {
    auto const& c = rank.communication;
    Json out{{"rank", rank.rank},
             {"host", rank.host},
             {"busy", rank.busy()},
             {"useful", rank.useful()},
             {"working", rank.working},
             {"serial", rank.serial},
             {"outside_mpi", rank.outside_mpi()},
             {"sending", c.sending},
             {"receiving", c.receiving},
             {"committing", c.committing},
             {"writing", c.writing},
             {"messages_sent", c.messages_sent},
             {"messages_received", c.messages_received},
             {"bytes_sent", c.bytes_sent},
             {"bytes_received", c.bytes_received},
             {"bytes_written", c.bytes_written}};
    for (auto const& thread : rank.threads) out["threads"].push_back(to_json(thread));
    return out;
}

Json to_json(Subtree const& s) {
    return {{"rank", s.rank},     {"thread", s.thread}, {"start", s.start}, {"end", s.end},
            {"useful", s.useful}, {"chunks", s.chunks}, {"nodes", s.nodes}, {"depth", s.depth}};
}
Json to_json(SizeClass const& c) { return {{"from_us", c.from_us}, {"subtrees", c.subtrees}, {"useful", c.useful}}; }
Json to_json(Contention const& c) {
    return {{"threads", c.threads}, {"queries", c.queries}, {"seconds", c.seconds}, {"cpu_seconds", c.cpu_seconds}};
}
Json to_json(Timeline const& timeline) {
    Json out{{"bin", timeline.bin}, {"busy", timeline.busy}, {"rows", Json::array()}};
    for (auto const& row : timeline.rows)
        out["rows"].push_back({{"first_rank", row.first_rank},
                               {"last_rank", row.last_rank},
                               {"busy", row.busy},
                               {"query", row.query},
                               {"verify", row.verify},
                               {"wait", row.wait}});
    return out;
}

template <class T>
Json list(std::vector<T> const& values) {
    auto out = Json::array();
    for (auto const& value : values) out.push_back(to_json(value));
    return out;
}

} // namespace

Json to_json(Analysis const& a) {
    return {{"start", a.start},
            {"runtime", a.runtime},
            {"execution", a.segment},
            {"events", a.events},
            {"nodes", a.nodes},
            {"threads", a.threads()},
            {"useful", a.useful()},
            {"efficiency", to_json(a.efficiency)},
            {"phases", Json::parse(render(table_by(a, "phase", 0), "json"))},
            {"ranks", list(a.ranks)},
            {"longest_subtrees", list(a.longest)},
            {"subtree_sizes", list(a.sizes)},
            {"contention", list(a.contention)},
            {"timeline", to_json(a.timeline)},
            {"verdict", verdict_text(a)},
            {"hints", a.hints},
            {"hint_gains", a.hint_gains},
            {"remarks", a.remarks}};
}

} // namespace espalier::analysis
