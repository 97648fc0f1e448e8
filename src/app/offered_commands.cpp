#include "offered.hpp"
#include "opened_run.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/print.hpp"
#include "espalier/store/run_folder.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>

namespace espalier::app {
namespace {

namespace fs = std::filesystem;
using problems::Offers;

std::vector<std::string> names_of(std::vector<problems::Format> const& formats) {
    std::vector<std::string> names;
    for (auto const& format : formats) names.push_back(format.name);
    return names;
}

/// What was asked for with `--what`, or the first that the kind has.
std::string chosen(OpenedRun const& run, std::string_view what, std::vector<problems::Format> const& offered,
                   std::string const& asked) {
    auto const names = names_of(offered);
    if (asked.empty()) return names.empty() ? std::string() : names.front();
    if (std::ranges::find(names, asked) == names.end())
        throw base::InputError("--{} {}: kind {} has no such {}: use one of {}", what, asked, run.kind().name(), what,
                               fmt::join(names, ", "));
    return asked;
}

std::string target_of(OpenedRun const& run, std::string const& asked) {
    auto const targets = run.kind().offers().targets;
    if (targets.empty())
        throw base::InputError("{}: results of kind {} have no files", run.summary().folder.string(),
                               run.kind().name());
    return chosen(run, "target", targets, asked);
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

base::Json to_json(std::size_t id, std::uint64_t key, problems::Measurement const& measured) {
    base::Json out{{"id", id},
                   {"key", fmt::format("{:016x}", key)},
                   {"cost", measured.cost},
                   {"noise", measured.noise},
                   {"executed", search::name(measured.executed)}};
    if (!measured.reason.empty()) out["reason"] = measured.reason;
    out.update(measured.more);
    return out;
}

std::string to_text(base::Json const& one, std::string const& told, std::string const& unit) {
    if (!told.empty())
        return fmt::format("{:>6}  {}  {}\n", one["id"].get<std::size_t>(), one["key"].get<std::string>(), told);
    auto const reason = one.contains("reason") ? ": " + one["reason"].get<std::string>() : std::string();
    return fmt::format("{:>6}  {}  {:.6g} {} +- {:.2g} %  executed: {}{}\n", one["id"].get<std::size_t>(),
                       one["key"].get<std::string>(), one["cost"].get<double>(), unit, 100 * one["noise"].get<double>(),
                       one["executed"].get<std::string>(), reason);
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
                         fmt::format("What it is for: {}", fmt::join(names_offered(&Offers::emit_formats), ", ")),
                         "FORMAT", &to->format},
                        {"-o,--output", "A new or empty folder", "FOLDER", &to->output}},
            .run = [to](auto const&) { return emit_command(*to); }};
}

problems::Command measure() {
    auto const to = std::make_shared<MeasureArguments>();
    return {.name = "measure",
            .help = "Measure the best results of a run on this machine",
            .examples = "Example:\n  espalier measure runs/mine --top 5",
            .options = {{"run", "Run folder", "RUN", &to->run},
                        {"--top", "How many of the best (10); 0: all", "N", &to->top, 0, 1'000'000'000},
                        {"--target", "As what code (the first that there is)", "TARGET", &to->target},
                        {"--threads", "0: one for each core", "N", &to->threads, 0, 4096},
                        {"--seconds", "Of measuring, for each result (1)", "S", &to->seconds, 1, 3600},
                        {"--json", "As JSON", "", &to->json}},
            .run = [to](auto const&) { return measure_command(*to); }};
}

/// What was measured becomes a part of the run. That does not keep the numbers from being shown.
void store_measured(OpenedRun const& run, std::map<std::uint64_t, base::Bytes> const& payloads) {
    if (payloads.empty()) return;
    try {
        store::RunFolder const folder({.path = run.summary().folder}, run.summary().record.identity);
        auto record = folder.previous().value();
        for (auto& result : record.results)
            if (auto const found = payloads.find(result.key); found != payloads.end()) result.payload = found->second;
        store::write_run(folder.run_file(), record);
    } catch (base::InputError const& error) {
        base::complain(fmt::format("what was measured is not stored: {}", error.what()));
    } catch (base::SystemError const& error) {
        base::complain(fmt::format("what was measured is not stored: {}", error.what()));
    }
}

} // namespace

std::vector<problems::Command> offered_commands() {
    std::vector<problems::Command> all;
    if (is_offered([](Offers const& offers) { return !offers.targets.empty(); })) all.push_back(emit());
    if (is_offered([](Offers const& offers) { return offers.can_measure; })) all.push_back(measure());
    return all;
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

int measure_command(MeasureArguments const& arguments) {
    OpenedRun const run(arguments.run);
    run.check_keys();
    if (!run.kind().offers().can_measure)
        throw base::InputError("{}: results of kind {} cannot be measured", arguments.run, run.kind().name());
    auto const unit = run.results().cost().unit;
    problems::MeasureOptions const options{arguments.target.empty() ? "" : target_of(run, arguments.target),
                                           static_cast<int>(arguments.threads), static_cast<double>(arguments.seconds)};
    auto list = base::Json::array();
    std::map<std::uint64_t, base::Bytes> payloads;
    bool is_wrong = false;
    for (auto const& record : run.results().ranked()) {
        if (arguments.top > 0 && std::cmp_equal(list.size(), arguments.top)) break;
        auto const measured = run.results().measure_with(list.size() + 1, options);
        is_wrong = is_wrong || measured.executed == search::Executed::wrong;
        if (measured.payload) payloads[record.key] = *measured.payload;
        list.push_back(to_json(list.size() + 1, record.key, measured));
        if (!arguments.json) base::say("{}", to_text(list.back(), measured.text, unit));
    }
    store_measured(run, payloads);
    if (arguments.json) {
        base::Json told{{"run", arguments.run}, {"unit", unit}, {"measured", list}};
        if (auto const machine = run.results().machine(); !machine.is_null()) told["machine"] = machine;
        base::put_json(told);
    }
    return static_cast<int>(is_wrong ? base::ExitCode::verification_failed : base::ExitCode::done);
}

} // namespace espalier::app
