#include "here.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/log.hpp"
#include "espalier/base/print.hpp"
#include "espalier/base/system.hpp"
#include "espalier/codegen/calibrate.hpp"
#include "espalier/codegen/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace espalier::problems::mugraph {
namespace {

using config::HardwareConfig;

/// More digits than a measurement is worth are dropped.
double rounded(double x) {
    auto const unit = std::pow(10.0, std::floor(std::log10(x)) - 2);
    return std::max(1e-6, std::round(x / unit) * unit);
}
/// From units per ns, which are GB/s.
std::uint64_t bytes_per_second(double rate) {
    auto const megabytes = std::max(1.0, std::round(rounded(rate) * 1e3));
    return static_cast<std::uint64_t>(megabytes) * 1'000'000;
}
base::Nanoseconds nanoseconds(double ns) {
    return base::Nanoseconds(static_cast<std::int64_t>(std::clamp(std::round(ns / 10) * 10, 10.0, 1e9)));
}

void set_arithmetic(HardwareConfig& out, codegen::Calibration const& found, int lanes) {
    auto const f32 = rounded(found.f32.all * 1e-3), f64 = rounded(found.f64.all * 1e-3);
    out.matmul_tflops = {.f16 = f32, .bf16 = f32, .f32 = f32, .f64 = f64}; // halves are computed in f32
    out.matmul_shape = {{1, lanes, 1}, {1, lanes, 1}, {1, lanes, 1}, {1, std::max(lanes / 2, 1), 1}};
    out.pointwise_tflops = {.f16 = rounded(f32 / 2),
                            .bf16 = rounded(f32 / 2),
                            .f32 = rounded(f32 / 2),
                            .f64 = rounded(f64 / 2)}; // without the fused addition
    out.function_tops = rounded(f32 / 36); // some 9 cycles a vector, in which 18 multiply-adds of it are done
}

/// In the terms of a GPU, as config/hardware/cpu.yaml: a core is a multiprocessor, its second-level cache the shared
/// memory, of which tiles may fill four fifths. Numbers that are not measured are those of the built-in machine.
HardwareConfig hardware_of(codegen::Calibration const& found) {
    auto out = config::unmeasured_here();
    out.is_to_be_measured = false;
    out.launch = nanoseconds(found.fork_ns);
    out.memory_bandwidth = bytes_per_second(found.memory.all);
    out.l2_bandwidth = bytes_per_second(found.last_cache.all);
    out.l2 = found.last_cache_bytes;
    out.shared_bandwidth = bytes_per_second(found.near_cache.all);
    out.multiprocessors = found.cores;
    out.shared_memory = out.block_shared_memory = found.near_cache_bytes / 5 * 4 / 1024 * 1024;
    set_arithmetic(out, found, static_cast<int>(codegen::this_cpu().lanes));
    return out;
}

std::string told(HardwareConfig const& hardware) {
    return fmt::format("{} core{}, {:.3g} GB/s from memory, {:.3g} GB/s from the last cache, {:.3g} Tflop/s in f32",
                       hardware.multiprocessors, hardware.multiprocessors == 1 ? "" : "s",
                       1e-9 * static_cast<double>(hardware.memory_bandwidth),
                       1e-9 * static_cast<double>(hardware.l2_bandwidth), hardware.matmul_tflops.f32);
}

std::optional<HardwareConfig> known_here() {
    auto const known = codegen::known_calibration();
    return known ? std::optional(hardware_of(*known)) : std::nullopt;
}

HardwareConfig measured_here() {
    base::log::note("measuring this machine for a few seconds (the numbers are kept: see espalier hardware)");
    auto const found = hardware_of(codegen::calibrate());
    base::log::note("this machine: {}", told(found));
    return found;
}

/// Also of a run whose experiment said `here`.
std::optional<HardwareConfig> stored_here(Preparing const& how) {
    auto const stored = how.stored();
    if (!stored || &stored->problem.section() != &problem_section()) return std::nullopt;
    auto const& hardware = stored->problem.as<MugraphConfig>().hardware;
    if (hardware.name != config::here_name || hardware.is_to_be_measured) return std::nullopt;
    return hardware;
}

// --- the command ---

struct Arguments {
    bool calibrate = false;
    std::string output;
    bool json = false;
};

base::Json to_json(HardwareConfig const& hardware) {
    auto const& rates = hardware.matmul_tflops;
    return {{"name", hardware.name},
            {"memory_bandwidth", hardware.memory_bandwidth},
            {"l2_bandwidth", hardware.l2_bandwidth},
            {"l2", hardware.l2},
            {"shared_bandwidth", hardware.shared_bandwidth},
            {"shared_memory", hardware.shared_memory},
            {"multiprocessors", hardware.multiprocessors},
            {"launch_ns", hardware.launch.count()},
            {"matmul_tflops", {{"f16", rates.f16}, {"bf16", rates.bf16}, {"f32", rates.f32}, {"f64", rates.f64}}}};
}

std::string row(HardwareConfig const& hardware) {
    return fmt::format("{:<6} {:>15} {:>10.4g} {:>12} {:>12.4g} {:>12.4g}\n", hardware.name, hardware.multiprocessors,
                       1e-9 * static_cast<double>(hardware.memory_bandwidth),
                       base::human_bytes(static_cast<double>(hardware.l2)), hardware.matmul_tflops.f16,
                       hardware.matmul_tflops.f32);
}

/// Written as a whole or not at all, and never over an existing file.
void write_new(std::string const& file, std::string const& text) {
    auto* const out = std::fopen(file.c_str(), "wbx");
    if (out == nullptr && errno == EEXIST)
        throw base::InputError("{}: exists, and is not overwritten: name another file with -o", file);
    auto const is_written = out != nullptr && std::fwrite(text.data(), 1, text.size(), out) == text.size();
    auto const is_closed = out != nullptr && std::fclose(out) == 0;
    if (!is_written || !is_closed)
        throw base::SystemError("{}: cannot be written: {}: name another file with -o", file, std::strerror(errno));
}

std::string file_text(HardwareConfig const& here) {
    auto const machine = codegen::this_machine();
    auto const about = fmt::format("{} on {}, measured with {}, {}.\nA multiprocessor is a core, shared memory what "
                                   "tiles may fill of its second-level cache, a kernel a parallel loop.",
                                   machine.cpu, machine.host, machine.compiler, base::utc_text(base::wall_ns()));
    return config::hardware_file_text(here, about);
}

void say_machines(std::optional<HardwareConfig> const& here) {
    base::say("{:<6} {:>15} {:>10} {:>12} {:>12} {:>12}\n", "name", "multiprocessors", "GB/s", "last cache",
              "Tflop/s f16", "Tflop/s f32");
    for (auto const& hardware : config::known_hardware()) base::say("{}", row(hardware));
    if (here)
        base::say("{}", row(*here));
    else
        base::say("{:<6} this machine, not measured yet: a search measures it, and so does --calibrate\n",
                  config::here_name);
}

void put_machines(std::optional<HardwareConfig> const& here) {
    auto list = base::Json::array();
    for (auto const& hardware : config::known_hardware()) list.push_back(to_json(hardware));
    base::put_json(base::Json{{"machines", list}, {"here", here ? to_json(*here) : base::Json()}});
}

int execute(Arguments const& arguments) {
    if (!arguments.output.empty() && std::filesystem::exists(arguments.output))
        throw base::InputError("{}: exists, and is not overwritten: name another file with -o", arguments.output);
    auto const here = arguments.calibrate ? std::optional(measured_here()) : known_here();
    if (!arguments.output.empty()) write_new(arguments.output, file_text(here.value()));
    if (arguments.json)
        put_machines(here);
    else if (arguments.output.empty())
        say_machines(here);
    else
        base::say("{}: the numbers of this machine, for `hardware: {}`\n", arguments.output, arguments.output);
    return 0;
}

} // namespace

MugraphConfig prepared(MugraphConfig config, Preparing const& how) {
    if (!config.hardware.is_to_be_measured) return config;
    auto const known = known_here();
    if (auto const stored = stored_here(how)) {
        if (how.may_measure && stored != known)
            base::log::note(
                "the run keeps the machine that it began with ({}), whose numbers are not those of this one",
                told(*stored));
        config.hardware = *stored;
    } else if (known) {
        config.hardware = *known;
    } else if (how.may_measure) {
        config.hardware = measured_here();
    }
    return config;
}

Command hardware_command() {
    auto const to = std::make_shared<Arguments>();
    return {.name = "hardware",
            .help = "List the machines that costs may be for, or measure this one",
            .examples = "Examples:\n  espalier hardware\n  espalier hardware --calibrate -o here.yaml",
            .options = {{"--calibrate", "Measure this machine again, which takes a few seconds", "", &to->calibrate},
                        {.names = "-o,--output",
                         .help = "New file for the numbers, which `hardware` of an experiment may name",
                         .type = "FILE",
                         .target = &to->output,
                         .needs = {"--calibrate"}},
                        {"--json", "As JSON", "", &to->json}},
            .run = [to](auto const&) { return execute(*to); }};
}

} // namespace espalier::problems::mugraph
