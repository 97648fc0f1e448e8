#include "offered.hpp"
#include "opened_run.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/print.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace espalier::app {
namespace {

namespace fs = std::filesystem;
using problems::Offers;

std::vector<std::string> names_of(std::vector<problems::Format> const& formats) {
    std::vector<std::string> names;
    for (auto const& format : formats) names.push_back(format.name);
    return names;
}

/// The value of `--what`, or the first that the kind has.
std::string chosen(OpenedRun const& run, std::string_view what, std::vector<problems::Format> const& offered,
                   std::string const& asked) {
    auto const names = names_of(offered);
    if (asked.empty()) return names.empty() ? std::string() : names.front();
    if (std::ranges::find(names, asked) == names.end())
        throw base::InputError("--{} {}: kind {} has no such {}: use one of {}", what, asked, run.kind().name(), what,
                               fmt::join(names, ", "));
    return asked;
}

/// Nothing of the user's is overwritten.
void make_folder(fs::path const& folder) {
    if (folder.empty()) throw base::InputError("--output is missing: name a new or empty folder");
    if (fs::exists(folder) && (!fs::is_directory(folder) || !fs::is_empty(folder)))
        throw base::InputError("{}: exists and is not an empty folder: name another one with -o", folder.string());
    fs::create_directories(folder);
}

void write(fs::path const& file, std::string const& text) {
    fs::create_directories(file.parent_path());
    auto* const out = std::fopen(file.c_str(), "wbx");
    auto const is_written = out != nullptr && std::fwrite(text.data(), 1, text.size(), out) == text.size();
    auto const is_closed = out != nullptr && std::fclose(out) == 0;
    if (!is_written || !is_closed)
        throw base::SystemError("{}: cannot be written: {}: name another folder with -o", file.string(),
                                std::strerror(errno));
}

template <class Has>
bool is_offered(Has const& has) {
    return std::ranges::any_of(problems::kinds(), [&](auto const* kind) { return has(kind->offers()); });
}

/// Of all kinds, each once.
std::vector<std::string> names_offered(std::vector<problems::Format> Offers::*which) {
    std::vector<std::string> all;
    for (auto const* kind : problems::kinds())
        for (auto const& name : names_of(kind->offers().*which))
            if (std::ranges::find(all, name) == all.end()) all.push_back(name);
    return all;
}

problems::Command emit() {
    auto const to = std::make_shared<EmitArguments>();
    return {.name = "emit",
            .help = "Write the files of one result into a folder",
            .examples = "Example:\n  espalier emit runs/mine --program 1 -o folder",
            .options = {{"run", "Run folder", "RUN", &to->run},
                        {"--program", "Its rank or its key (1)", "RANK|KEY", &to->program},
                        {"--target", fmt::format("{}", fmt::join(names_offered(&Offers::targets), ", ")), "TARGET",
                         &to->target},
                        {"--format",
                         fmt::format("How the code is used: {}", fmt::join(names_offered(&Offers::emit_formats), ", ")),
                         "FORMAT", &to->format},
                        {"-o,--output", "A new or empty folder", "FOLDER", &to->output}},
            .run = [to](auto const&) { return emit_command(*to); }};
}

problems::Command measure() {
    auto const to = std::make_shared<MeasureArguments>();
    return {
        .name = "measure",
        .help = "Measure the best results of a run on this machine",
        .examples = "Example:\n  espalier measure runs/mine --top 5",
        .options = {{"run", "Run folder", "RUN", &to->run},
                    {"--top", "How many of the best (10); 0: all", "N", &to->top, 0, 1'000'000'000},
                    {"--target", "Kind of code (the first that the run offers)", "TARGET", &to->target},
                    {"--threads", "Threads; 0: one per core", "N", &to->threads, 0, 4096},
                    {"--seconds", "Seconds of measuring per result (1)", "S", &to->seconds, 1, 3600},
                    {"--times", "File of measured times (in the user's cache folder)", "FILE", &to->times},
                    {"--again", "Measure again what has a time already, in the run or in that file", "", &to->again},
                    {"--json", "As JSON", "", &to->json}},
        .run = [to](auto const&) { return measure_command(*to); }};
}

} // namespace

std::vector<problems::Command> offered_commands() {
    std::vector<problems::Command> all;
    if (is_offered([](Offers const& offers) { return !offers.targets.empty(); })) all.push_back(emit());
    if (is_offered([](Offers const& offers) { return offers.can_measure; })) all.push_back(measure());
    return all;
}

std::string target_of(OpenedRun const& run, std::string const& asked) {
    auto const targets = run.kind().offers().targets;
    if (targets.empty())
        throw base::InputError("{}: results of kind {} have no files", run.summary().folder.string(),
                               run.kind().name());
    return chosen(run, "target", targets, asked);
}

int emit_command(EmitArguments const& arguments) {
    OpenedRun const run(arguments.run);
    run.check_keys();
    auto const id = run.find(arguments.program.empty() ? "1" : arguments.program);
    auto const target = target_of(run, arguments.target);
    auto const format = chosen(run, "format", run.kind().offers().emit_formats, arguments.format);
    auto const files = run.results().files(id, {target, format});
    make_folder(arguments.output);
    for (auto const& file : files) {
        write(fs::path(arguments.output) / file.name, file.text);
        base::say("{}\n", (fs::path(arguments.output) / file.name).string());
    }
    auto const offers = run.kind().offers();
    auto const& offer = *std::ranges::find(offers.targets, target, &problems::Format::name);
    if (!offer.caution.empty()) base::complain_as_is(offer.caution);
    return 0;
}

} // namespace espalier::app
