#include "espalier/codegen/measure.hpp"

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
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace espalier::codegen {
namespace {

namespace fs = std::filesystem;

std::string variable(char const* name, std::string otherwise) {
    auto const* const value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : otherwise;
}
std::string compiler() { return variable("CXX", "c++"); }

std::string first_line(std::string const& text) { return text.substr(0, text.find('\n')); }

std::string cpu_name() {
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);)
        if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
    return "unknown";
}

fs::path cache_folder(fs::path const& asked) {
    if (!asked.empty()) return asked;
    auto const home = variable("XDG_CACHE_HOME", variable("HOME", "/tmp") + "/.cache");
    return fs::path(home) / "espalier" / "code";
}

std::vector<std::string> words(std::string_view text) {
    std::istringstream in{std::string(text)};
    std::vector<std::string> out;
    for (std::string word; in >> word;) out.push_back(word);
    return out;
}

/// What was compiled, by the content of what it was made from, for one compiler and processor.
class CompileCache {
public:
    CompileCache(fs::path folder, Machine const& machine) : folder_(std::move(folder)) {
        fs::create_directories(folder_);
        base_ = fmt::format("{}\n{}\n{}\n", machine.compiler, machine.cpu, compiler_flags);
    }
    /// Why it does not compile; empty if there is one.
    std::string object(std::string const& source, fs::path& object) {
        object = folder_ / fmt::format("{:016x}.o", base::hash_text(base_ + source));
        if (fs::exists(object)) return {};
        auto const file = unfinished(object, ".cpp");
        std::ofstream(file) << source;
        auto const why = compile({"-c", file.string()}, object);
        fs::remove(file);
        return why;
    }
    std::string program(std::vector<fs::path> const& objects, fs::path& program) {
        std::string names;
        std::vector<std::string> inputs;
        for (auto const& object : objects) names += inputs.emplace_back(object.string());
        program = folder_ / fmt::format("{:016x}.bench", base::hash_text(base_ + names));
        if (fs::exists(program)) return {};
        inputs.emplace_back("-lm");
        return compile(inputs, program);
    }

private:
    /// Others may compile the same at the same time.
    static fs::path unfinished(fs::path const& file, std::string const& extension) {
        return file.string() + fmt::format(".{}{}", getpid(), extension);
    }
    static std::string compile(std::vector<std::string> const& inputs, fs::path const& result) {
        auto const made = unfinished(result, ".made");
        std::vector<std::string> command{compiler()};
        for (auto const& flag : words(compiler_flags)) command.push_back(flag);
        command.insert(command.end(), inputs.begin(), inputs.end());
        command.insert(command.end(), {"-o", made.string()});
        auto const end = run_child(command, {.seconds = 120});
        if (!end.is_good()) return end.errors.empty() ? command[0] + " cannot be run" : first_line(end.errors);
        fs::rename(made, result);
        return {};
    }

    fs::path folder_;
    std::string base_;
};

/// A folder that builds itself, by the content of its files. Others may build the same at the same time.
std::string build_folder(std::vector<TextFile> const& files, fs::path const& cache, fs::path& bench) {
    auto content = this_machine().compiler;
    for (auto const& file : files) content += file.name + '\n' + file.text;
    auto const folder = cache / fmt::format("{:016x}", base::hash_text(content));
    bench = folder / "bench";
    if (fs::exists(bench)) return {};
    auto const unfinished = fs::path(folder.string() + fmt::format(".{}", getpid()));
    fs::create_directories(unfinished);
    for (auto const& file : files) std::ofstream(unfinished / file.name) << file.text;
    auto const end = run_child({"sh", (unfinished / "build").string()}, {.seconds = 300});
    std::error_code exists;
    if (end.is_good()) fs::rename(unfinished, folder, exists);
    if (!end.is_good() || exists) fs::remove_all(unfinished);
    return end.is_good() ? std::string() : first_line(end.errors);
}

/// The program that checks and measures, or why there is none.
std::string compile(Package const& package, MeasureOptions const& options, fs::path& bench) {
    auto const& target = options.target.empty() ? targets().front() : *find_target(options.target);
    if (!target.caution.empty())
        throw base::InputError("--target {}: nothing is measured ({}): measure where such a device is, with the bench "
                               "of the folder that emit makes",
                               target.name, target.caution);
    if (target.package != cpu_package) return build_folder(target.package(package), cache_folder(options.cache), bench);
    CompileCache cache(cache_folder(options.cache), this_machine());
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

Verdict compared(Interval const& program, Interval const& input) {
    if (program.high < input.low) return Verdict::faster;
    return program.low > input.high ? Verdict::slower : Verdict::as_fast;
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

/// Numbers of the command line of bench and of its exit codes.
constexpr int wrong_code = 4;

Measured verdict_on(ChildEnd const& end) {
    using How = ChildEnd::How;
    if (end.how == How::timed_out) return {.verdict = Verdict::timed_out, .reason = "it did not end in time"};
    if (end.how == How::killed)
        return {.verdict = Verdict::crashed, .reason = fmt::format("killed by signal {}", end.code)};
    if (end.code == wrong_code) return {.verdict = Verdict::wrong, .reason = first_line(end.errors)};
    auto const json = base::Json::parse(end.out, nullptr, false);
    if (end.code != 0 || json.is_discarded() || !json.contains("ms"))
        return {.verdict = Verdict::crashed,
                .reason = fmt::format("exit code {}: {}", end.code, first_line(end.errors))};
    return told(json);
}

} // namespace

Machine this_machine() {
    static auto const machine = [] {
        auto const version = run_child({compiler(), "--version"}, {.seconds = 20});
        if (!version.is_good())
            throw base::InputError(
                "{}: cannot be run (programs are measured after they were compiled): install g++, or "
                "set CXX to another compiler",
                compiler());
        return Machine{base::host_name(), cpu_name(), base::affinity_cores(), first_line(version.out)};
    }();
    return machine;
}

Measured measure(Package const& package, MeasureOptions const& options) {
    fs::path bench;
    if (auto const why = compile(package, options, bench); !why.empty())
        return {.verdict = Verdict::does_not_compile, .reason = why};
    auto const threads = options.threads > 0 ? options.threads : base::affinity_cores();
    return verdict_on(run_child({bench.string(), "--json", "--seconds", fmt::format("{}", options.seconds), "--threads",
                                 fmt::format("{}", threads)},
                                {.seconds = options.limit_seconds, .memory_bytes = base::available_memory_bytes()}));
}

} // namespace espalier::codegen
