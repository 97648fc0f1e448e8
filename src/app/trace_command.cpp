#include "commands.hpp"

#include "espalier/analysis/compare.hpp"
#include "espalier/analysis/exports/exports.hpp"
#include "espalier/base/error.hpp"
#include "espalier/base/print.hpp"
#include "espalier/base/units.hpp"
#include "espalier/problems/problems.hpp"

#include <fmt/ranges.h>

namespace espalier::app {
namespace {

using analysis::TraceSource;
using base::ExitCode;

/// The policy that the run had, for hints. A run of a newer version may have an experiment that is not understood.
std::string policy_of(TraceSource const& source) {
    try {
        auto const config = problems::experiments().parse_stored(source.summary.record.config);
        return std::string(base::name(config.cluster.policy));
    } catch (base::InputError const&) {
        return "";
    }
}

analysis::Analysis analysed(TraceSource& source, TraceArguments const& arguments, std::string const& window) {
    return analysis::analyse(source, {.window = window.empty() ? analysis::Window{} : analysis::parse_window(window),
                                      .policy = policy_of(source),
                                      .longest = arguments.top});
}

void say(std::vector<std::string> const& remarks) {
    for (auto const& remark : remarks) base::complain("note: {}", remark);
}

int compare(TraceArguments const& arguments) {
    auto source_a = analysis::open_trace(arguments.compare[0]);
    auto source_b = analysis::open_trace(arguments.compare[1]);
    auto const a = analysed(source_a, arguments, arguments.window);
    auto const b = analysed(source_b, arguments, arguments.window);
    for (auto const* source : {&source_a, &source_b})
        if (arguments.fail_below > 0 && source->is_incomplete)
            throw base::InputError(
                "{}: a part of its trace is missing, so that its speed is not known ({}): fetch it, or "
                "compare without --fail-below",
                source->summary.folder.string(), fmt::join(source->remarks, "; "));
    auto const comparison = analysis::compare(source_a, a, source_b, b);
    bool const is_below = arguments.fail_below > 0 && comparison.speed < arguments.fail_below;
    if (arguments.format == "json") {
        base::Json out{{"speed", comparison.speed},
                       {"cpu_speed", comparison.cpu_speed},
                       {"fail_below", arguments.fail_below > 0 ? base::Json(arguments.fail_below) : base::Json()},
                       {"failed", is_below},
                       {"remarks", comparison.remarks},
                       {"metrics", base::Json::parse(analysis::render(comparison.table, "json"))}};
        base::put_json(out);
    } else {
        say(comparison.remarks);
        base::put(analysis::render(comparison.table, arguments.format));
        if (arguments.format == "table")
            base::say("B searches at {:.3g} of A's speed ({:.3g} by CPU time){}\n", comparison.speed,
                      comparison.cpu_speed, is_below ? fmt::format(": below {}", arguments.fail_below) : std::string());
    }
    return static_cast<int>(is_below ? ExitCode::comparison_failed : ExitCode::done);
}

int export_trace(TraceArguments const& arguments) {
    auto source = analysis::open_trace(arguments.run, arguments.execution);
    auto const window = arguments.window.empty() ? analysis::Window{} : analysis::parse_window(arguments.window);
    auto const written = analysis::exports::write(source, window, arguments.export_format, arguments.output);
    say(source.remarks);
    base::say("{}: {} events{}\n", written.open.string(), base::grouped(written.events),
              written.messages ? fmt::format(", {} messages", base::grouped(*written.messages)) : std::string());
    if (!written.also.empty()) base::say("{}: the same as Enter and Leave rows, for Pipit\n", written.also.string());
    return 0;
}

} // namespace

int trace_command(TraceArguments const& arguments) {
    if (arguments.compare.empty() == arguments.run.empty()) {
        base::complain("trace: name one run folder, or two after --compare (see espalier trace --help)");
        return static_cast<int>(ExitCode::usage);
    }
    if (!arguments.compare.empty()) return compare(arguments);
    if (!arguments.export_format.empty()) return export_trace(arguments);
    auto source = analysis::open_trace(arguments.run, arguments.execution);
    auto const analysis = analysed(source, arguments, arguments.window);
    if (!arguments.by.empty()) {
        say(analysis.remarks);
        auto const table = analysis::table_by(analysis, arguments.by, arguments.top);
        base::put(analysis::render(arguments.columns.empty() ? table : analysis::select(table, arguments.columns),
                                   arguments.format));
    } else if (arguments.format == "json") {
        base::put_json(analysis::to_json(analysis));
    } else if (arguments.format == "table" && arguments.columns.empty()) {
        base::say("{}", analysis::trace_text(source, analysis));
    } else {
        base::complain("trace: {} needs --by rank, thread, phase or node",
                       arguments.columns.empty() ? "--format " + arguments.format : std::string("--columns"));
        return static_cast<int>(ExitCode::usage);
    }
    return 0;
}

} // namespace espalier::app
