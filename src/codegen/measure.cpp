#include "espalier/codegen/measure.hpp"

#include "compiler.hpp"
#include "espalier/base/error.hpp"
#include "espalier/base/hash.hpp"
#include "espalier/base/json.hpp"
#include "espalier/base/system.hpp"
#include "espalier/codegen/child.hpp"
#include "espalier/codegen/program_text.hpp"
#include "espalier/codegen/target.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace espalier::codegen {
namespace {

namespace fs = std::filesystem;

fs::path cache_folder(fs::path const& asked) { return asked.empty() ? base::cache_folder() / "code" : asked; }

/// Compiled files, by the content of their sources, for one compiler and processor.
class CompileCache {
public:
    CompileCache(fs::path folder, Machine const& machine, base::StopToken stop)
        : folder_(std::move(folder)), stop_(stop) {
        fs::create_directories(folder_);
        base_ = fmt::format("{}\n{}\n{}\n", machine.compiler, machine.cpu, compiler_flags);
    }
    /// Why it does not compile; empty if it does.
    std::string object(std::string const& source, fs::path& object) {
        object = folder_ / fmt::format("{:016x}.o", base::hash_text(base_ + source));
        if (fs::exists(object)) return {};
        Scratch const file{unfinished(object, ".cpp")};
        std::ofstream(file.name) << source;
        return codegen::compile({"-c", file.name.string()}, object, stop_);
    }
    std::string program(std::vector<fs::path> const& objects, fs::path& program) {
        std::string names;
        std::vector<std::string> inputs;
        for (auto const& object : objects) names += inputs.emplace_back(object.string());
        program = folder_ / fmt::format("{:016x}.bench", base::hash_text(base_ + names));
        if (fs::exists(program)) return {};
        inputs.emplace_back("-lm");
        return codegen::compile(inputs, program, stop_);
    }

private:
    fs::path folder_;
    base::StopToken stop_;
    std::string base_;
};

/// A folder that builds itself, by the content of its files. Others may build the same at the same time.
std::string build_folder(std::vector<TextFile> const& files, MeasureOptions const& options, fs::path& bench) {
    auto const cache = cache_folder(options.cache);
    auto content = this_machine().compiler;
    for (auto const& file : files) content += file.name + '\n' + file.text;
    auto const folder = cache / fmt::format("{:016x}", base::hash_text(content));
    bench = folder / "bench";
    if (fs::exists(bench)) return {};
    Scratch const made{unfinished(folder, "")};
    fs::create_directories(made.name);
    for (auto const& file : files) std::ofstream(made.name / file.name) << file.text;
    auto const end = run_child({"sh", (made.name / "build").string()}, {.seconds = 300, .stop = options.stop});
    std::error_code exists;
    if (end.is_good()) fs::rename(made.name, folder, exists);
    return end.is_good() ? std::string() : first_line(end.errors);
}

/// The program that checks and measures, or why there is none.
std::string compile(Package const& package, MeasureOptions const& options, fs::path& bench) {
    auto const& target = options.target.empty() ? targets().front() : *find_target(options.target);
    if (!target.caution.empty())
        throw base::InputError("--target {}: nothing is measured here ({}): emit the program and run its bench where "
                               "there is such a device",
                               target.name, target.caution);
    if (target.package != cpu_package) return build_folder(target.package(package), options, bench);
    CompileCache cache(cache_folder(options.cache), this_machine(), options.stop);
    std::vector<fs::path> objects;
    for (auto const& file : cpu_package(package)) {
        if (!file.name.ends_with(".cpp")) continue;
        if (auto const why = cache.object(file.text, objects.emplace_back()); !why.empty()) return why;
    }
    return cache.program(objects, bench);
}

Interval interval(base::Json const& json, std::string const& name, std::string const& bounds) {
    return {json.at(name), json.at(bounds).at(0), json.at(bounds).at(1)};
}

Ending compared(Interval const& program, Interval const& input) {
    if (program.high < input.low) return Ending::faster;
    return program.low > input.high ? Ending::slower : Ending::as_fast;
}

Measured told(base::Json const& json) {
    Measured out;
    out.program = interval(json, "ms", "ci_ms");
    out.input = interval(json, "input_ms", "input_ci_ms");
    out.verdict = compared(out.program, out.input);
    out.max_error = json.at("max_error");
    out.tolerance = json.at("tolerance");
    out.threads = json.at("threads");
    return out;
}

/// Exit codes of bench, and numbers of its command line.
constexpr int wrong_code = 4;

Measured verdict_on(ChildEnd const& end) {
    using How = ChildEnd::How;
    if (end.how == How::timed_out) return {.verdict = Ending::timed_out, .reason = "it did not finish in time"};
    if (end.how == How::killed)
        return {.verdict = Ending::crashed, .reason = fmt::format("killed by signal {}", end.code)};
    if (end.code == wrong_code) return {.verdict = Ending::wrong, .reason = first_line(end.errors)};
    auto const json = base::Json::parse(end.out, nullptr, false);
    if (end.code != 0 || json.is_discarded() || !json.contains("ms"))
        return {.verdict = Ending::crashed,
                .reason = fmt::format("exit code {}: {}", end.code, first_line(end.errors))};
    return told(json);
}

} // namespace

void precompile(Package const& package, MeasureOptions const& options) {
    fs::path bench;
    if (!program::has_tails(package.program)) static_cast<void>(compile(package, options, bench));
}

Measured measure(Package const& package, MeasureOptions const& options) {
    fs::path bench;
    if (auto const why = compile(package, options, bench); !why.empty())
        return {.verdict = Ending::does_not_compile, .reason = why};
    auto const threads = options.threads > 0 ? options.threads : base::affinity_cores();
    return verdict_on(run_child(
        {bench.string(), "--json", "--seconds", fmt::format("{}", options.seconds), "--threads",
         fmt::format("{}", threads)},
        {.seconds = options.limit_seconds, .memory_bytes = base::available_memory_bytes(), .stop = options.stop}));
}

} // namespace espalier::codegen
