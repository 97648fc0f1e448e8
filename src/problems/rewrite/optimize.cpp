#include "optimize.hpp"

#include "stored.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/log.hpp"
#include "espalier/base/print.hpp"
#include "espalier/base/units.hpp"
#include "espalier/model/onnx.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace espalier::problems::rewrite {
namespace {

namespace fs = std::filesystem;

struct OptimizeArguments {
    std::string model;
    std::string output;
    std::string rules;
    std::string cost;
    std::string max_time;
    std::string backend;
    std::string results;
    std::int64_t threads = 1;
    bool unproved = false;
    bool force = false;
    bool json = false;
};

/// A YAML text in double quotes.
std::string quoted(std::string const& text) { return base::Json(text).dump(-1, ' ', true); }

std::string experiment_of(OptimizeArguments const& arguments) {
    auto out = fmt::format("problem:\n  kind: rewrite\n  model: {}\n  threads: {}\n", quoted(arguments.model),
                           arguments.threads);
    if (!arguments.rules.empty()) out += fmt::format("  rules: {}\n", quoted(arguments.rules));
    if (!arguments.backend.empty()) out += fmt::format("  backend: {}\n", quoted(arguments.backend));
    if (!arguments.cost.empty()) out += fmt::format("  cost: {}\n", arguments.cost);
    if (arguments.unproved) out += "  unproved: true\n";
    out += fmt::format("search: {{threads: {}}}\n", arguments.threads);
    return out + fmt::format("results: {{path: {}}}\n", quoted(arguments.results));
}

void check(OptimizeArguments const& arguments) {
    if (arguments.model.empty()) throw base::InputError("there is no model to optimize: name an ONNX file");
    if (arguments.output.empty())
        throw base::InputError("--output is missing: name a file for the model, e.g. -o better.onnx");
    if (!arguments.cost.empty() && arguments.cost != "measured" && arguments.cost != "estimated")
        throw base::InputError("--cost: there is no `{}`: use measured or estimated", arguments.cost);
    if (arguments.cost == "measured" && arguments.backend.empty())
        throw base::InputError("--cost measured needs a back end that measures: name a command with --backend, e.g. "
                               "--backend run/backend-onnxruntime");
    if (!arguments.max_time.empty() && !base::parse_duration(arguments.max_time))
        throw base::InputError("--max-time: `{}` is not a time: write e.g. 30s or 5min", arguments.max_time);
}

bool has_no_time(OptimizeArguments const& arguments) {
    return !arguments.max_time.empty() && base::parse_duration(arguments.max_time)->count() == 0;
}

/// No time: the input, byte by byte, with what is known about it.
int copy(OptimizeArguments const& arguments) {
    auto const model = model::read_onnx(arguments.model);
    auto const cut = rewrite::cut(model, {});
    model::write_onnx(model, arguments.output);
    auto const& told = cut.understood;
    if (arguments.json)
        base::put_json({{"problem", "rewrite"},
                        {"stop_reason", "time_limit"},
                        {"exit_code", 0},
                        {"rewrite",
                         {{"nodes", told.nodes},
                          {"understood", told.understood},
                          {"opaque", told.opaque},
                          {"opaque_ops", told.opaque_ops},
                          {"rewrites", 0},
                          {"nodes_after", told.nodes},
                          {"cost_before", nullptr},
                          {"cost_after", nullptr},
                          {"cost_source", "estimated"}}}});
    else
        base::say("{}: {} nodes, {} understood; there was no time to search, so {} is the input\n", arguments.model,
                  told.nodes, told.understood, arguments.output);
    return 0;
}

int optimize(OptimizeArguments arguments, Tools const& tools) {
    check(arguments);
    if (has_no_time(arguments)) return copy(arguments);
    Plan const told_first({.model = arguments.model, .rules = arguments.rules}); // throws what is wrong with either
    if (arguments.results.empty()) arguments.results = "runs/" + fs::path(arguments.model).stem().string();
    auto const end = tools.search({.experiment = experiment_of(arguments),
                                   .name = "optimize",
                                   .max_time = arguments.max_time,
                                   .force = arguments.force,
                                   .json = arguments.json});
    auto const is_there =
        end.code == static_cast<int>(base::ExitCode::done) || end.code == static_cast<int>(base::ExitCode::resumable);
    if (!end.is_first || !is_there) return end.code;
    auto const opened = tools.open(arguments.results);
    auto const run = opened->run();
    auto const better = output_model(run);
    model::write_onnx(better, arguments.output);
    auto const told = summary_json(run);
    if (told["rewrites"] == 0)
        base::log::note("{}: the input, unchanged: nothing better was found{}", arguments.output,
                        end.code == 0 ? "" : " yet; the same command resumes");
    else
        base::log::note("{}: {} rewrites, {:.3f}x by {} times", arguments.output, told["rewrites"].get<std::uint64_t>(),
                        told["cost_before"].get<double>() / told["cost_after"].get<double>(),
                        told["cost_source"].get<std::string>());
    return end.code;
}

} // namespace

Command optimize_command() {
    auto const to = std::make_shared<OptimizeArguments>();
    return {
        .name = "optimize",
        .help = "Rewrite a model (ONNX) by proved rules, and write it if it became better",
        .examples = "Examples:\n  espalier optimize model.onnx -o better.onnx --backend run/backend-onnxruntime\n"
                    "  espalier optimize model.onnx -o better.onnx --max-time 5min --threads 2",
        .options = {{"model", "ONNX file", "MODEL", &to->model},
                    {"-o,--output", "File for the better model", "FILE", &to->output},
                    {"--rules", "Library of rules (the one that comes with Espalier)", "FILE", &to->rules},
                    {"--cost", "measured (where there is a back end) or estimated", "COST", &to->cost},
                    {"--max-time", "Limit, such as 5min; 0s: nothing is rewritten", "TIME", &to->max_time},
                    {"--threads", "Of the search and of the back end (1)", "N", &to->threads, 1, 4096},
                    {"--backend",
                     "Command that runs models: it gets a model file, an inputs file (.npz) and a number of "
                     "threads",
                     "COMMAND", &to->backend},
                    {"--results", "Run folder (runs/ and the model's name)", "FOLDER", &to->results},
                    {"--unproved", "Use also rules that are only known to agree on random values", "", &to->unproved},
                    {"--force", "Replace a run that is in the folder", "", &to->force},
                    {"--json", "The summary as JSON", "", &to->json}},
        .run = [to](Tools const& tools) { return optimize(*to, tools); }};
}

} // namespace espalier::problems::rewrite
