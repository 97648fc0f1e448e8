#include "espalier/codegen/calibrate.hpp"

#include "caches.hpp"
#include "compiler.hpp"
#include "espalier/base/error.hpp"
#include "espalier/base/hash.hpp"
#include "espalier/base/json.hpp"
#include "espalier/base/system.hpp"
#include "espalier/codegen/child.hpp"
#include "espalier/codegen/measure.hpp"
#include "texts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

namespace espalier::codegen {
namespace {

namespace fs = std::filesystem;
using base::Json;

constexpr int version = 1; ///< of the kept numbers: those of another version are not comparable

fs::path folder_of(fs::path const& asked) { return asked.empty() ? base::cache_folder() / "machines" : asked; }

fs::path file_of(fs::path const& asked, Machine const& machine) {
    auto const key = fmt::format("{}\n{}\n{}\n{}", version, machine.cpu, machine.cores, machine.compiler);
    return folder_of(asked) / fmt::format("{:016x}.json", base::hash_text(key));
}

Json to_json(Rate const& rate) { return {rate.one, rate.all}; }

Json kept(Calibration const& it) {
    return {{"version", version},
            {"cpu", it.cpu},
            {"compiler", it.compiler},
            {"cores", it.cores},
            {"last_cache_bytes", it.last_cache_bytes},
            {"near_cache_bytes", it.near_cache_bytes},
            {"memory", to_json(it.memory)},
            {"last_cache", to_json(it.last_cache)},
            {"near_cache", to_json(it.near_cache)},
            {"f32", to_json(it.f32)},
            {"f64", to_json(it.f64)},
            {"fork_ns", it.fork_ns}};
}

/// All cores together are at least as fast as one: on a busy machine they may never have run at the same time.
Rate rate_in(Json const& json, char const* name) {
    Rate const rate{json.at(name).at(0), json.at(name).at(1)};
    return {rate.one, std::max(rate.one, rate.all)};
}

bool is_sane(Calibration const& it) {
    auto const is_good = [](double x) { return std::isfinite(x) && x > 0 && x < 1e9; };
    auto const are_good = [&](Rate const& rate) { return is_good(rate.one) && is_good(rate.all); };
    return are_good(it.memory) && are_good(it.last_cache) && are_good(it.near_cache) && are_good(it.f32) &&
           are_good(it.f64) && is_good(it.fork_ns) && it.last_cache_bytes > 0 && it.near_cache_bytes > 0;
}

void take_rates(Json const& json, Calibration& out) {
    out.memory = rate_in(json, "memory");
    out.last_cache = rate_in(json, "last_cache");
    out.near_cache = rate_in(json, "near_cache");
    out.f32 = rate_in(json, "f32");
    out.f64 = rate_in(json, "f64");
    out.fork_ns = json.at("fork_ns");
}

/// A file that somebody else wrote, or that is damaged, is not believed.
std::optional<Calibration> read_kept(fs::path const& file, Machine const& machine) {
    std::ifstream in(file);
    auto const json = Json::parse(in, nullptr, false);
    if (!json.is_object()) return std::nullopt;
    try {
        Calibration out{.cpu = json.at("cpu"), .compiler = json.at("compiler"), .cores = json.at("cores")};
        out.last_cache_bytes = json.at("last_cache_bytes");
        out.near_cache_bytes = json.at("near_cache_bytes");
        take_rates(json, out);
        auto const is_of_here = json.at("version") == version && out.cpu == machine.cpu &&
                                out.compiler == machine.compiler && out.cores == machine.cores;
        return is_of_here && is_sane(out) ? std::optional(out) : std::nullopt;
    } catch (Json::exception const&) {
        return std::nullopt;
    }
}

/// Without it the next one measures again.
void keep(fs::path const& file, Calibration const& calibration) {
    std::error_code ignored;
    fs::create_directories(file.parent_path(), ignored);
    Scratch const made{unfinished(file, ".made")};
    std::ofstream(made.name) << kept(calibration).dump(2) << '\n';
    fs::rename(made.name, file, ignored);
}

/// Much more than the last cache has, but not so much that it takes long to fill.
std::uint64_t memory_share(Calibration const& it) {
    auto const wanted = std::clamp<std::uint64_t>(4 * it.last_cache_bytes, 256u << 20, 1u << 30);
    auto const most = base::available_memory_bytes() / 4;
    return std::min(wanted, most) / static_cast<std::uint64_t>(it.cores) / 4096 * 4096;
}
/// A core's share of the last cache, but more than the cache before it holds.
std::uint64_t last_cache_share(Calibration const& it) {
    auto const part = it.last_cache_bytes / static_cast<std::uint64_t>(2 * it.cores);
    return std::max(part, 2 * it.near_cache_bytes) / 4096 * 4096;
}

std::vector<std::string> command(fs::path const& program, Calibration const& it, double seconds) {
    return {program.string(),
            std::to_string(it.cores),
            fmt::format("{}", seconds),
            std::to_string(memory_share(it)),
            std::to_string(last_cache_share(it)),
            std::to_string(it.near_cache_bytes / 2 / 4096 * 4096)};
}

Json run(Calibration const& it, CalibrateOptions const& options, fs::path const& folder) {
    Scratch const source{unfinished(folder / "calibrate", ".cpp")}, program{unfinished(folder / "calibrate", "")};
    std::ofstream(source.name) << calibration_text();
    if (auto const why = compile({source.name.string()}, program.name, options.stop); !why.empty())
        throw base::InputError("{}: the machine cannot be measured: {}: set CXX to a compiler with OpenMP, or "
                               "name a machine other than `here`",
                               compiler(), why);
    auto const end = run_child(command(program.name, it, options.seconds), {.seconds = 120, .stop = options.stop});
    auto json = Json::parse(end.out, nullptr, false);
    if (!end.is_good() || !json.is_object())
        throw base::SystemError("the machine cannot be measured: {} (exit code {}): free some memory, or name a "
                                "machine other than `here`",
                                end.how == ChildEnd::How::timed_out ? "it took too long" : first_line(end.errors),
                                end.code);
    return json;
}

} // namespace

Calibration calibrate(CalibrateOptions const& options) {
    auto const machine = this_machine();
    auto const file = file_of(options.folder, machine);
    auto const caches = this_machines_caches();
    Calibration out{.cpu = machine.cpu,
                    .compiler = machine.compiler,
                    .cores = machine.cores,
                    .last_cache_bytes = caches.last_bytes,
                    .near_cache_bytes = caches.near_bytes};
    std::error_code ignored;
    fs::create_directories(file.parent_path(), ignored);
    auto const folder = fs::is_directory(file.parent_path()) ? file.parent_path() : fs::temp_directory_path();
    take_rates(run(out, options, folder), out);
    if (!is_sane(out))
        throw base::SystemError("the machine cannot be measured: a rate is not a number: name a machine other than "
                                "`here`");
    keep(file, out);
    return out;
}

std::optional<Calibration> known_calibration(fs::path const& folder) {
    try {
        auto const machine = this_machine();
        return read_kept(file_of(folder, machine), machine);
    } catch (base::InputError const&) { // there is no compiler
        return std::nullopt;
    }
}

/// Generated code reaches about two thirds of the rates of loops that do nothing else.
CpuNumbers this_machines_numbers() {
    CpuNumbers numbers{.shape = this_cpu(), .threads = base::affinity_cores()};
    auto const known = known_calibration();
    if (!known) return numbers;
    constexpr double reached = 0.7;
    numbers.tile_bytes = static_cast<std::int64_t>(known->near_cache_bytes / 8 * 5);
    numbers.read_bytes_per_ns = reached * known->memory.one;
    numbers.cache_bytes_per_ns = reached * known->last_cache.one;
    numbers.multiply_adds_per_ns = reached * known->f32.one / 2;
    return numbers;
}

} // namespace espalier::codegen
