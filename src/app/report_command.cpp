#include "commands.hpp"
#include "lists.hpp"
#include "opened_run.hpp"
#include "write_file.hpp"

#include "espalier/analysis/report/report.hpp"
#include "espalier/analysis/scaling/scaling.hpp"
#include "espalier/base/error.hpp"
#include "espalier/base/print.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace espalier::app {
namespace {

namespace fs = std::filesystem;
using analysis::report::Contents;
using analysis::report::Drawing;
using base::Json;

constexpr std::size_t table_rows = 100; ///< of the best results

void add_results(Contents& contents, OpenedRun const& run, std::size_t drawings) {
    auto const& told = run.results();
    auto list = run.listed(std::max(table_rows, drawings));
    if (list.rows.is_null()) return;
    contents.results = std::move(list.rows);
    contents.list_note = std::move(list.note);
    contents.input = told.input();
    auto const formats = told.formats();
    auto const in = [&](std::size_t id, std::string const& format) {
        return std::ranges::count(formats, format, &problems::Format::name) > 0 ? told.one(id, format) : std::string();
    };
    for (std::size_t i = 0; i < std::min(drawings, contents.results.size()); ++i) {
        auto const id = contents.results[i].at("id").get<std::size_t>();
        contents.drawings.push_back({told.title(contents.results[i]), in(id, "svg"), in(id, "text")});
    }
}

/// What the page must know about costs and columns.
void add_words(Contents& contents, problems::StoredResults const& told) {
    auto const cost = told.cost();
    contents.cost = {cost.unit, std::string(search::name(cost.source)), cost.about, cost.input, cost.noise};
    for (auto const& column : told.columns()) contents.columns.push_back({column.key, column.title, column.unit});
    for (auto const* key : {"verified", "executed", "cost_source", "optimality"})
        if (std::ranges::count(contents.columns, key, &analysis::report::ResultColumn::key) == 0)
            contents.columns.push_back({key, key, ""});
    contents.funnel = told.funnel();
    contents.advice = told.advice();
}

void require_execution(ReportArguments const& arguments, store::RunRecord const& record) {
    auto const count = record.executions.size();
    if (std::cmp_greater(arguments.execution, count))
        throw base::InputError("{}: there is no execution {}; the run has {} (no page was written)", arguments.run,
                               arguments.execution, count);
}

/// The page does without a trace and says why there is none.
std::optional<analysis::Analysis> analysed(ReportArguments const& arguments, config::RunConfig const& config,
                                           std::string& note) {
    try {
        auto source = analysis::open_trace(arguments.run, arguments.execution);
        return analysis::analyse(source, {.policy = std::string(base::name(config.cluster.policy))});
    } catch (base::InputError const& error) {
        note = fmt::format("There is no trace to show: {}", error.what());
        return {};
    }
}

void add_scaling(Contents& contents, ReportArguments const& arguments, config::RunConfig const& config) {
    auto const nodes = arguments.nodes == "none" ? std::vector<int>{} : node_numbers(arguments.nodes, ", or none");
    if (nodes.empty() || contents.trace == nullptr) {
        contents.scaling_note = nodes.empty() ? "Left out on request (--nodes none)." : contents.trace_note;
        return;
    }
    try {
        auto source = analysis::open_trace(arguments.run, arguments.execution);
        contents.scaling = analysis::scaling::to_json(
            analysis::scaling::predict(source, {.nodes = nodes, .policies = {config.cluster.policy}}));
    } catch (base::InputError const& error) {
        contents.scaling_note = fmt::format("There is no prediction: {}", error.what());
    }
}

} // namespace

int report_command(ReportArguments const& arguments) {
    OpenedRun const run(arguments.run);
    require_execution(arguments, run.summary().record);
    run.check_keys();
    Contents contents{.summary = run.summary(), .run = run.summary_json()};
    add_results(contents, run, arguments.top);
    add_words(contents, run.results());
    contents.known = run.known_text();
    auto const trace = analysed(arguments, run.config(), contents.trace_note);
    contents.trace = trace ? &*trace : nullptr;
    add_scaling(contents, arguments, run.config());
    auto const file = arguments.output.empty() ? fs::path(arguments.run) / "report.html" : fs::path(arguments.output);
    write_file(file, analysis::report::page(contents), "the page");
    base::say("{}\n", file.string());
    return 0;
}

} // namespace espalier::app
