#include "command.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/suggest.hpp"
#include "espalier/base/units.hpp"
#include "espalier/cluster/collectives/collectives.hpp"
#include "espalier/problems/placement/stored.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace espalier::problems::placement {
namespace {

namespace collectives = cluster::collectives;

struct Arguments {
    std::string run;
    collectives::Options const usual;
    std::int64_t top = 10;
    std::string size = "1KiB..64MiB";
    std::string element{collectives::info(usual.element).name};
    std::int64_t repeats = usual.repeats;
    std::int64_t seed = static_cast<std::int64_t>(usual.seed);
    bool calibrate = false;
    std::string output;
    bool json = false;
};

std::uint64_t size_of(std::string const& text) {
    auto const bytes = base::parse_bytes(text);
    if (!bytes || *bytes == 0)
        throw base::InputError("--size: `{}` is not a size: write e.g. 64KiB, or 1KiB..64MiB", text);
    return *bytes;
}

/// Powers of four times the first, up to the second.
std::vector<std::uint64_t> sizes_of(std::string const& text) {
    auto const dots = text.find("..");
    if (dots == std::string::npos) return {size_of(text)};
    auto const first = size_of(text.substr(0, dots)), last = size_of(text.substr(dots + 2));
    if (first > last)
        throw base::InputError("--size: {} is larger than {}: write the smaller one first", text.substr(0, dots),
                               text.substr(dots + 2));
    std::vector<std::uint64_t> sizes;
    for (auto size = first; size <= last && size >= first; size *= 4) sizes.push_back(size);
    return sizes;
}

std::vector<std::string> element_names() {
    std::vector<std::string> names;
    for (auto const& row : collectives::element_table) names.emplace_back(row.name);
    return names;
}

collectives::Options options_of(Arguments const& arguments) {
    auto const& table = collectives::element_table;
    auto const found = std::ranges::find(table, arguments.element, &collectives::ElementInfo::name);
    if (found == table.end()) {
        auto const names = element_names();
        auto const near = base::near_word(arguments.element, names);
        throw base::InputError("--element: there is no `{}`: use {}", arguments.element,
                               near ? *near : fmt::format("one of {}", fmt::join(names, ", ")));
    }
    return {.sizes = sizes_of(arguments.size),
            .element = static_cast<collectives::Element>(found - table.begin()),
            .repeats = static_cast<int>(arguments.repeats),
            .seed = static_cast<std::uint64_t>(arguments.seed),
            .json = arguments.json};
}

/// The stored prediction is for the payload of the experiment; for other sizes a new one is made.
std::vector<double> predictions(StoredProgram const& program, std::vector<std::uint64_t> const& sizes) {
    auto const share = reduction::start_share(program.request, program.groups.front().size());
    std::vector<double> list;
    for (auto const size : sizes)
        list.push_back(size == program.payload
                           ? program.predicted_us
                           : 1e6 * reduction::pipelined_seconds(program.lowered, program.hierarchy,
                                                                static_cast<double>(size), program.segments, share));
    return list;
}

collectives::Plan plan_of(StoredProgram const& program, std::vector<std::uint64_t> const& sizes) {
    return {.id = program.id,
            .task = fmt::format("placement {}, reduction {}", program.placement, program.reduction),
            .text = program.program,
            .steps = program.lowered,
            .groups = program.groups,
            .segments = program.segments,
            .request = program.request,
            .predicted_us = predictions(program, sizes)};
}

collectives::Job job_of(Arguments const& arguments, RunOpener const& open) {
    if (arguments.run.empty())
        throw base::InputError("there is nothing to execute: name the folder of a run of a placement search, or "
                               "--calibrate -o hardware.yaml");
    collectives::Job job{{}, options_of(arguments)};
    auto const opened = open(arguments.run);
    auto const run = opened->run();
    if (&run.config.problem.section() != &problem_section())
        throw base::InputError("{}: its problem is {}, which has no programs of collectives: give a run whose "
                               "problem.kind is {}",
                               arguments.run, run.info.kind, problem_section().name());
    for (auto const& program : stored_programs(run.config.problem.as<PlacementConfig>(), run.results,
                                               static_cast<std::size_t>(arguments.top)))
        job.plans.push_back(plan_of(program, job.options.sizes));
    return job;
}

/// What is wrong with it is rank 0's to report, once it knows that it is rank 0.
std::optional<base::Nanoseconds> start_patience() {
    auto const* const text = std::getenv("ESPALIER_START");
    if (text == nullptr || *text == '\0') return config::ClusterConfig{}.start;
    return base::parse_duration(text);
}

/// Called on rank 0.
template <class Prepare>
auto prepared(Prepare const& prepare) {
    if (!start_patience())
        throw base::InputError("ESPALIER_START={} is not a time: write e.g. 1min", std::getenv("ESPALIER_START"));
    return prepare();
}

int execute(Arguments const& arguments, RunOpener const& open) {
    auto const patience = start_patience().value_or(config::ClusterConfig{}.start);
    auto const options = [&] { return prepared([&] { return options_of(arguments); }); };
    if (arguments.calibrate) return collectives::calibrate(arguments.output, options, patience);
    return collectives::measure([&] { return prepared([&] { return job_of(arguments, open); }); }, patience);
}

constexpr std::int64_t most = 1'000'000'000;

std::vector<Option> options(Arguments& to) {
    return {
        {"run", "Run folder", "RUN", &to.run},
        {"--top", fmt::format("Number of the best programs ({}); 0: all", to.top), "N", &to.top, 0, most},
        {"--size", fmt::format("Payloads: one, or powers of four from A to B ({})", to.size), "A..B", &to.size},
        {"--element", "f32, f64 or i32", "TYPE", &to.element},
        {"--repeats", fmt::format("Runs that choose, and as many that are reported ({})", to.repeats), "N", &to.repeats,
         1, 1'000'000},
        {"--seed", fmt::format("Seed of the numbers that are added ({})", to.seed), "N", &to.seed, 0,
         std::numeric_limits<std::int64_t>::max()},
        {"-o,--output", "File for --calibrate", "FILE", &to.output},
        {.names = "--calibrate",
         .help = "Fit latency and bandwidth of this machine or cluster and write them as a hierarchy",
         .type = "",
         .target = &to.calibrate,
         .needs = {"--output"},
         .excludes = {"run"}},
        {"--json", "As JSON", "", &to.json},
    };
}

} // namespace

Command collectives_command() {
    auto const arguments = std::make_shared<Arguments>();
    return {.name = "collectives",
            .help = "Execute the programs of a placement search with MPI, check the sums and measure them",
            .examples = "Examples:\n  mpiexec -n 8 espalier collectives runs/placement --top 10 --size 1KiB..64MiB\n"
                        "  mpiexec -n 8 espalier collectives --calibrate -o hardware.yaml",
            .options = options(*arguments),
            .run = [arguments](Tools const& tools) { return execute(*arguments, tools.open); }};
}

} // namespace espalier::problems::placement
