#include "commands.hpp"

#include "espalier/analysis/report/report.hpp"
#include "espalier/analysis/scaling/scaling.hpp"
#include "espalier/base/error.hpp"
#include "espalier/base/units.hpp"
#include "espalier/config/load.hpp"
#include "espalier/problems/problems.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <optional>
#include <unistd.h>

namespace espalier::app {
namespace {

namespace fs = std::filesystem;
using analysis::report::Contents;
using analysis::report::Drawing;
using base::Json;

constexpr std::size_t table_rows = 100; ///< of the best results
constexpr int most_nodes = 1'000'000;

/// `1,4,16`; empty for `none`.
std::vector<int> parse_nodes(std::string const& text) {
    std::vector<int> nodes;
    if (text == "none") return nodes;
    for (std::size_t from = 0; from <= text.size();) {
        auto const to = std::min(text.find(',', from), text.size());
        int count = 0;
        auto const [end, error] = std::from_chars(text.data() + from, text.data() + to, count);
        if (error != std::errc() || end != text.data() + to || count < 1 || count > most_nodes)
            throw base::InputError("--nodes {}: '{}' is no number of nodes (1 to {}): say e.g. 1,16,256, or none", text,
                                   text.substr(from, to - from), most_nodes);
        nodes.push_back(count);
        from = to + 1;
    }
    std::ranges::sort(nodes);
    nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
    return nodes;
}

/// `275,416.90 us`.
std::string cost_text(double cost_us) {
    auto const hundredths = static_cast<std::uint64_t>(std::llround(100 * cost_us));
    return fmt::format("{}.{:02} us", base::grouped(hundredths / 100), hundredths % 100);
}

std::string title_of(Json const& result, std::size_t id) {
    auto title = std::to_string(id);
    for (auto const* key : {"cost_us", "predicted_us"})
        if (result.contains(key)) title += ": " + cost_text(result[key].get<double>());
    if (result.contains("kernels")) {
        auto const kernels = result["kernels"].get<int>();
        title += fmt::format(", {} kernel{}", kernels, kernels == 1 ? "" : "s");
    }
    return title;
}

void add_results(Contents& contents, problems::StoredRun const& run, std::size_t drawings) {
    auto list = problems::results(run, std::max(table_rows, drawings));
    if (list.is_null()) return;
    contents.results = list["results"];
    contents.input = list.value("input", Json());
    for (std::size_t i = 0; i < std::min(drawings, contents.results.size()); ++i)
        contents.drawings.push_back({title_of(contents.results[i], i + 1), problems::one_result(run, i + 1, "svg"),
                                     problems::one_result(run, i + 1, "text")});
}

/// The page goes on without a trace and says why there is none.
std::optional<analysis::Analysis> analysed(ReportArguments const& arguments, config::RunConfig const& config,
                                           std::string& note) {
    try {
        auto source = analysis::open_trace(arguments.run, arguments.execution);
        return analysis::analyse(
            source,
            {.policy = std::array{"static", "omp-dynamic", "hybrid"}[static_cast<std::size_t>(config.cluster.policy)]});
    } catch (base::InputError const& error) {
        note = fmt::format("There is no trace to show: {}", error.what());
        return {};
    }
}

void add_scaling(Contents& contents, ReportArguments const& arguments, config::RunConfig const& config) {
    auto const nodes = parse_nodes(arguments.nodes);
    if (nodes.empty() || contents.trace == nullptr) {
        contents.scaling_note = nodes.empty() ? "Left out on request (--nodes none)." : contents.trace_note;
        return;
    }
    try {
        auto source = analysis::open_trace(arguments.run, arguments.execution);
        contents.scaling = analysis::scaling::to_json(analysis::scaling::predict(
            source, {.nodes = nodes, .policies = {static_cast<cluster::PolicyKind>(config.cluster.policy)}}));
    } catch (base::InputError const& error) {
        contents.scaling_note = fmt::format("There is no prediction: {}", error.what());
    }
}

/// A reader sees the old page or the new one. Nothing but a plain file is replaced: not a folder, not /dev/null.
void write_page(fs::path const& file, std::string const& text) {
    std::error_code ignored;
    if (fs::exists(file, ignored) && !fs::is_regular_file(file, ignored))
        throw base::InputError("{}: is there and is no plain file (a page replaces only a file): name another with -o",
                               file.string());
    auto const temporary = fs::path(fmt::format("{}.{}.tmp", file.string(), ::getpid()));
    std::ofstream out(temporary, std::ios::binary);
    out << text;
    out.close();
    if (out && std::rename(temporary.c_str(), file.c_str()) == 0) return;
    std::string const reason = std::strerror(errno);
    fs::remove(temporary, ignored);
    throw base::SystemError("{}: cannot write the page: {} (nothing was replaced): name another file with -o",
                            file.string(), reason);
}

} // namespace

int report_command(ReportArguments const& arguments) {
    auto const summary = analysis::load_summary(arguments.run);
    auto const& record = summary.record;
    auto const config = config::parse_experiment(record.config, "the stored experiment");
    problems::StoredRun const run{config, record.info, record.counts, record.results};
    Contents contents{.summary = summary, .run = analysis::summary_json(summary)};
    if (auto own = problems::summary(run); !own.is_null()) contents.run[record.problem_kind] = own;
    add_results(contents, run, arguments.top);
    contents.funnel = problems::funnel_text(run);
    auto const trace = analysed(arguments, config, contents.trace_note);
    contents.trace = trace ? &*trace : nullptr;
    add_scaling(contents, arguments, config);
    auto const file = arguments.output.empty() ? fs::path(arguments.run) / "report.html" : fs::path(arguments.output);
    write_page(file, analysis::report::page(contents));
    fmt::print("{}\n", file.string());
    return 0;
}

} // namespace espalier::app
