#include "espalier/analysis/exports/timeline.hpp"
#include "espalier/analysis/exports/writers.hpp"

#include "output_file.hpp"

#include <map>

namespace espalier::analysis::exports {
namespace {

using trace::Event;
using trace::Kind;

/// Nanoseconds of one thread.
struct ThreadSums {
    std::array<std::int64_t, trace::kind_names.size()> in{};      ///< by kind, with what lies within
    std::array<std::int64_t, trace::kind_names.size()> queries{}; ///< within this kind
    Kind work = Kind::query; ///< the latest chunk or verification, which the queries after it belong to

    void add(Event const& event) {
        if (event.kind == Kind::chunk || event.kind == Kind::verify) work = event.kind;
        in[static_cast<std::size_t>(event.kind)] += event.duration_ns;
        if (event.kind == Kind::query) queries[static_cast<std::size_t>(work)] += event.duration_ns;
    }
};

void write_line(OutputFile& out, std::string const& stack, std::int64_t ns) {
    if (auto const us = (ns + 500) / 1000; us > 0) out.print("{} {}\n", stack, us);
}

/// A line holds the time outside its inner lines: flame graphs add those up.
void write_thread(OutputFile& out, std::string const& stack, ThreadSums const& sums) {
    for (std::size_t i = 0; i < sums.in.size(); ++i) {
        auto const kind = static_cast<Kind>(i);
        auto const line = fmt::format("{};{}", stack, label(kind));
        if (kind == Kind::query) {
            write_line(out, line, sums.queries[i]); // those of no work: the window cut it away
            continue;
        }
        write_line(out, line, sums.in[i] - sums.queries[i]);
        write_line(out, line + ";query", sums.queries[i]);
    }
}

} // namespace

Written write_folded(TraceSource& source, Window const& window, std::filesystem::path const& file) {
    Written written{.open = file};
    OutputFile out(file);
    std::map<std::pair<int, int>, ThreadSums> sums; // by rank and thread
    visit_events(source, window, [&](store::ShardInfo const& info, std::span<Event const> events) {
        written.events += events.size();
        for (auto const& event : events) sums[{info.rank, event.thread}].add(event);
    });
    for (auto const& [place, of_thread] : sums)
        write_thread(out, fmt::format("rank {};{}", place.first, thread_name(place.second)), of_thread);
    out.complete();
    return written;
}

} // namespace espalier::analysis::exports
