#include "commands.hpp"

#include "espalier/analysis/summary.hpp"
#include "espalier/base/error.hpp"
#include "espalier/config/load.hpp"
#include "espalier/problems/problems.hpp"

#include <fmt/core.h>

namespace espalier::app {

void print_summary(analysis::RunSummary const& summary, bool json) {
    if (!json) return fmt::print("{}", analysis::summary_text(summary));
    auto object = analysis::summary_json(summary);
    auto own = problems::summary(summary.record.problem_kind, summary.record.info, summary.record.counts);
    if (!own.is_null()) object[summary.record.problem_kind] = own;
    fmt::print("{}\n", object.dump(2));
}

int show_command(ShowArguments const& arguments) {
    auto const summary = analysis::load_summary(arguments.run);
    if (arguments.status && !arguments.json)
        fmt::print("{}\n", analysis::status_word(summary));
    else
        print_summary(summary, arguments.json);
    return arguments.status ? analysis::status_code(summary) : 0;
}

int check_command(std::vector<std::string> const& files, bool json) {
    auto report = base::Json::array();
    int bad = 0;
    for (auto const& file : files) {
        try {
            auto const config = config::load_experiment(file);
            if (!json) fmt::print("{}: ok ({})\n", file, config::kind_of(config.problem));
            report.push_back({{"file", file}, {"ok", true}, {"problem", config::kind_of(config.problem)}});
        } catch (base::InputError const& error) {
            ++bad;
            if (!json) fmt::print(stderr, "{}\n", error.what());
            report.push_back({{"file", file}, {"ok", false}, {"error", error.what()}});
        }
    }
    if (json) fmt::print("{}\n", report.dump(2));
    return static_cast<int>(bad > 0 ? base::ExitCode::invalid_input : base::ExitCode::done);
}

int schema_command() {
    fmt::print("{}\n", config::schema_json());
    return 0;
}

} // namespace espalier::app
