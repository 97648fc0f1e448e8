// What writing run.h5 costs when a run has many results.
//
// A search finds results one after the other and writes its file every few seconds. The bench writes a run of --results
// made-up programs once as a new writer does, and then --rounds times with 100 more results each, by a writer that
// knows what it encoded before (as a search does) and by a new one. CPU seconds of this process, in memory if /dev/shm
// is there.

#include "bench.hpp"

#include "espalier/base/system.hpp"
#include "espalier/store/run_file.hpp"

#include <filesystem>

namespace espalier::perf {
namespace {

constexpr auto usage = "usage: store_bench [--results 100000] [--rounds 10] [--json]\n"
                       "CPU time of writing run.h5 again with 100 more results.\n";

/// About as long as a program of one kernel; no two are equal.
search::ResultRecord made_up(std::uint64_t i) {
    auto text = fmt::format("program f16\n  X = input [2, 4096]\n  W = input [4096, {}]\n", i);
    for (std::uint64_t line = 0; line < 10; ++line)
        text += fmt::format("    t{} = tile x{} (grid x: {}, loop: {})  # [2, {}]\n", line, i * line % 97, i % 3,
                            line % 2, i * 7919 % 8192);
    return {.key = i * 0x9E3779B97F4A7C15ull, .cost = 1e-3 * static_cast<double>(i), .text = std::move(text)};
}

void extend(store::RunRecord& run, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) run.results.push_back(made_up(run.results.size()));
}

template <class Work>
double cpu_seconds(Work&& work) {
    auto const start = base::process_cpu_seconds();
    work();
    return base::process_cpu_seconds() - start;
}

base::Json measure(Arguments const& arguments) {
    auto const parent = std::filesystem::is_directory("/dev/shm") ? std::filesystem::path("/dev/shm") : ".";
    auto const file = parent / fmt::format("espalier-store-bench-{}.h5", static_cast<void const*>(&arguments));
    auto const rounds = std::max(arguments.number("--rounds", 10), 1);
    store::RunRecord run;
    extend(run, static_cast<std::size_t>(arguments.number("--results", 100'000)));
    store::RunWriter writer;
    auto const first = cpu_seconds([&] { writer.write(file, run); });
    double again = 0, anew = 0;
    for (int round = 0; round < rounds; ++round) {
        extend(run, 100);
        again += cpu_seconds([&] { writer.write(file, run); });
        anew += cpu_seconds([&] { store::write_run(file, run); });
    }
    auto const bytes = std::filesystem::file_size(file);
    std::filesystem::remove(file);
    return {{"results", run.results.size()},
            {"file_bytes", bytes},
            {"first_s", first},
            {"again_s", again / rounds},
            {"by_a_new_writer_s", anew / rounds}};
}

} // namespace
} // namespace espalier::perf

int main(int argc, char** argv) {
    using namespace espalier;
    perf::Arguments const arguments({argv, static_cast<std::size_t>(argc)}, perf::usage);
    auto const found = perf::measure(arguments);
    if (arguments.has("--json"))
        fmt::print("{}\n", found.dump(2));
    else
        fmt::print("{} results, {} bytes: first {:.3f} s, then {:.3f} s a time ({:.3f} s by a new writer)\n",
                   found["results"].get<int>(), found["file_bytes"].get<std::uint64_t>(),
                   found["first_s"].get<double>(), found["again_s"].get<double>(),
                   found["by_a_new_writer_s"].get<double>());
    return 0;
}
