#pragma once

#include "espalier/analysis/trace_source.hpp"

#include <array>

/// The trace as other tools read it. In all formats a rank is a process (`rank 3 (host)`), a thread is a thread
/// (`communication`, `worker 1`, ...), and times are counted from the start of the run.
///
/// - `perfetto`: protobuf for ui.perfetto.dev; messages are flows.
/// - `chrome`: JSON for chrome://tracing, Perfetto, speedscope; messages are flow events.
/// - `otf2`: a folder for Vampir and others, also `pipit.Trace.from_otf2(FOLDER)`; messages are MpiSend and MpiRecv,
///   whose tag is the sender's sequence number, so that tools pair them exactly. An existing folder is replaced if it
///   is empty or holds nothing but an OTF2 archive named `traces`, as ours are; anything else is refused.
/// - `csv`: one row per event, `pandas.read_csv(FILE)`: the exact spans as they were recorded. Beside it FILE with
///   `.pipit.csv` for its extension: enter and leave rows for `pipit.Trace.from_csv`.
/// - `folded`: one line per stack with its microseconds, for flamegraph.pl, inferno, speedscope.
///
/// What is drawn as a timeline (all but the first table of `csv` and `folded`) nests properly: see Lane.
namespace espalier::analysis::exports {

inline constexpr std::array<std::string_view, 5> formats{"perfetto", "chrome", "otf2", "csv", "folded"};

/// What was written.
struct Written {
    std::uint64_t events = 0;
    std::optional<std::uint64_t> messages; ///< of these: pairs drawn as arrows; none in a format without arrows
    std::filesystem::path open;            ///< the file that a tool opens
    std::filesystem::path also;            ///< a second file, if there is one: csv's table for Pipit
};

/// Streams the trace into a file (otf2: a folder) that other tools open. Memory does not grow with the trace. A reader
/// sees the old file or the whole new one, except where the file is a device or pipe. Throws InputError if the format
/// is unknown or not built in, SystemError if it cannot be written.
Written write(TraceSource& source, Window const& window, std::string const& format, std::filesystem::path const& file);

} // namespace espalier::analysis::exports
