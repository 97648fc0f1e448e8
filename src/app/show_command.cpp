#include "commands.hpp"
#include "opened_run.hpp"
#include "write_file.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/print.hpp"
#include "espalier/base/system.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

namespace espalier::app {

namespace {

base::Json to_json(problems::CostInfo const& cost) {
    base::Json out{{"unit", cost.unit}, {"source", search::name(cost.source)}};
    if (cost.noise > 0) out["noise"] = cost.noise;
    return out;
}

base::Json show_json(OpenedRun const& run, std::size_t top) {
    auto object = run.summary_json();
    auto const& told = run.results();
    if (auto list = run.results_json(top); !list.is_null()) object["results"] = std::move(list);
    if (auto input = told.input(); !input.is_null()) object["input"] = std::move(input);
    if (auto cost = told.cost(); !cost.unit.empty()) object["cost"] = to_json(cost);
    object.update(told.more());
    return object;
}

std::string names_of(std::vector<problems::Format> const& formats) {
    std::vector<std::string> names;
    for (auto const& format : formats) names.push_back(format.name);
    return fmt::format("{}", fmt::join(names, ", "));
}

/// The format that was asked for, or the first. Throws InputError.
std::string chosen_format(std::vector<problems::Format> const& formats, ShowArguments const& arguments,
                          std::string const& of) {
    if (arguments.format.empty()) return formats.front().name;
    if (std::ranges::count(formats, arguments.format, &problems::Format::name) == 0)
        throw base::InputError("--format {}: {} has no such format: use one of {}", arguments.format, of,
                               names_of(formats));
    return arguments.format;
}

/// `--placement 2`, of the kind that has it.
std::string one_view(OpenedRun const& run, ShowArguments const& arguments) {
    auto const views = run.kind().offers().views;
    auto const view = std::ranges::find(views, arguments.view, &problems::View::name);
    if (view == views.end())
        throw base::InputError("--{}: {} is a run of kind {}, which has no such view", arguments.view, arguments.run,
                               run.kind().name());
    return run.results().view(view->name, arguments.number, chosen_format(view->formats, arguments, "the view"));
}

std::string whole_run(OpenedRun const& run, ShowArguments const& arguments) {
    auto const formats = run.kind().offers().run_formats;
    if (formats.empty())
        throw base::InputError("--format {}: runs of kind {} have no format of their own: name a program with "
                               "--program",
                               arguments.format, run.kind().name());
    return run.results().whole(chosen_format(formats, arguments, "the whole run"));
}

std::string one_program(OpenedRun const& run, ShowArguments const& arguments) {
    auto const formats = run.results().formats();
    auto const& kind = run.summary().record.problem_kind;
    if (formats.empty())
        throw base::InputError("{}: its problem is {}, which has no programs to show: name a run of kind {}",
                               arguments.run, kind, kinds_with());
    if (arguments.explain && std::ranges::count(formats, explain_format, &problems::Format::name) == 0)
        throw base::InputError("--explain: there are no steps to explain (only programs of kind: {} have them): use "
                               "--format with one of {}",
                               kinds_with(explain_format), names_of(formats));
    auto const format = chosen_format(formats, arguments, fmt::format("kind {}", kind));
    return run.results().one(run.find(arguments.program), format);
}

/// What --program, --format or a view prints; nothing if none of them was asked for.
std::optional<std::string> one_thing(OpenedRun const& run, ShowArguments const& arguments) {
    if (!arguments.program.empty()) return one_program(run, arguments);
    if (!arguments.view.empty()) return one_view(run, arguments);
    if (!arguments.format.empty()) return whole_run(run, arguments);
    if (!arguments.output.empty())
        throw base::InputError("--output {}: there is nothing to write: add --program, --format or a view",
                               arguments.output);
    return std::nullopt;
}

/// Nothing of the stored program is taken on trust: its text is parsed and the program checked again.
base::Json to_json(problems::Recheck const& check, base::Json const& known) {
    base::Json out{{"id", check.id},
                   {"key", fmt::format("{:016x}", check.key)},
                   {"holds", check.holds},
                   {"proved", check.is_proved},
                   {"elements", check.elements},
                   {"error_bound", check.error_bound}};
    out.update(known);
    if (!check.reason.empty()) out["reason"] = check.reason;
    return out;
}

std::string to_text(problems::Recheck const& check) {
    if (!check.holds) return fmt::format("{:>6}  {:016x}  NOT EQUAL: {}\n", check.id, check.key, check.reason);
    return fmt::format("{:>6}  {:016x}  equal on {} elements{}\n", check.id, check.key, check.elements,
                       check.is_proved ? ", proved" : "");
}

/// Nothing is known about the run but whether its process is alive.
int show_begun(analysis::RunSummary const& summary, ShowArguments const& arguments) {
    auto const word = analysis::status_word(summary);
    auto const text =
        fmt::format("{}: a run has begun here and has stored nothing yet ({}): {}", summary.folder.string(), word,
                    summary.is_live ? "look again in a moment" : "the same command starts it from the beginning");
    if (!arguments.program.empty() || !arguments.view.empty() || !arguments.format.empty())
        throw base::InputError("{}", text);
    if (arguments.json)
        base::put_json(analysis::summary_json(summary));
    else if (arguments.status)
        base::say("{}\n", word);
    else
        base::say("{}\n", text);
    if (arguments.status && !arguments.json) base::complain(text);
    return arguments.status ? analysis::status_code(summary) : 0;
}

} // namespace

int show_command(ShowArguments const& arguments) {
    if (auto const begun = analysis::load_begun(arguments.run)) return show_begun(*begun, arguments);
    if (arguments.status && !arguments.json) {
        auto const summary = analysis::load_summary(arguments.run);
        base::say("{}\n", analysis::status_word(summary));
        return analysis::status_code(summary);
    }
    OpenedRun const run(arguments.run);
    run.check_keys();
    if (auto const text = one_thing(run, arguments); text && !arguments.output.empty())
        write_file(arguments.output, *text, "the text");
    else if (text)
        base::put(*text);
    else if (arguments.json)
        base::put_json(show_json(run, arguments.top));
    else if (arguments.all)
        base::say("{}", run.text(arguments.top, Rows::all));
    else
        base::say("{}", run.text(arguments.top > 0 ? arguments.top : 10));
    return arguments.status ? analysis::status_code(run.summary()) : 0;
}

int verify_command(VerifyArguments const& arguments) {
    OpenedRun const run(arguments.run);
    auto const seed = arguments.seed > 0 ? arguments.seed : static_cast<std::uint64_t>(base::wall_ns());
    auto const count = run.summary().record.results.size();
    if (count == 0) throw base::InputError("{}: the run has no results to verify", arguments.run);
    auto const scope = arguments.full ? problems::Scope::every_element : problems::Scope::sampled;
    auto list = base::Json::array();
    std::size_t wrong = 0;
    run.results().recheck(seed, scope, [&](problems::Recheck const& check) {
        wrong += check.holds ? 0 : 1;
        if (arguments.json)
            list.push_back(to_json(check, run.known_json(check.key)));
        else
            base::say("{}", to_text(check));
    });
    if (arguments.json)
        base::put_json(base::Json{
            {"run", arguments.run}, {"seed", seed}, {"programs", count}, {"wrong", wrong}, {"checks", list}});
    else
        base::say("stored as {}\n{}: {} of {} programs are {}, seed {}\n", run.known_text(), arguments.run,
                  count - wrong, count, run.results().claim(scope), seed);
    return static_cast<int>(wrong > 0 ? base::ExitCode::verification_failed : base::ExitCode::done);
}

int check_command(std::vector<std::string> const& files, bool json) {
    auto report = base::Json::array();
    int bad = 0;
    for (auto const& file : files) {
        try {
            auto const config = problems::load(file).config;
            if (!json) base::say("{}: ok ({})\n", file, config::kind_of(config.problem));
            report.push_back({{"file", file}, {"ok", true}, {"problem", config::kind_of(config.problem)}});
        } catch (base::InputError const& error) {
            ++bad;
            if (!json) base::complain_as_is(error.what());
            report.push_back({{"file", file}, {"ok", false}, {"error", error.what()}});
        }
    }
    if (json) base::put_json(report);
    return static_cast<int>(bad > 0 ? base::ExitCode::invalid_input : base::ExitCode::done);
}

int schema_command() {
    base::put("{}\n", problems::experiments().schema_json());
    return 0;
}

} // namespace espalier::app
