#include "commands.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/suggest.hpp"
#include "espalier/base/units.hpp"
#include "espalier/cluster/collectives/collectives.hpp"
#include "espalier/config/load.hpp"
#include "espalier/problems/placement/stored.hpp"

#include <fmt/ranges.h>

#include <algorithm>

namespace espalier::app {
namespace {

namespace collectives = cluster::collectives;

std::uint64_t size_of(std::string const& text) {
    auto const bytes = base::parse_bytes(text);
    if (!bytes || *bytes == 0)
        throw base::InputError("--size: `{}` is no size: write e.g. 64KiB, or 1KiB..64MiB", text);
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

collectives::Options options_of(CollectivesArguments const& arguments) {
    auto const& names = collectives::element_names;
    auto const found = std::ranges::find(names, arguments.element);
    if (found == names.end()) {
        auto const near = base::near_word(arguments.element, {names.begin(), names.end()});
        throw base::InputError("--element: there is no `{}`: use {}", arguments.element,
                               near ? *near : fmt::format("one of {}", fmt::join(names, ", ")));
    }
    return {.sizes = sizes_of(arguments.size),
            .element = static_cast<collectives::Element>(found - names.begin()),
            .repeats = arguments.repeats,
            .seed = arguments.seed,
            .json = arguments.json};
}

/// The stored prediction is for the payload of the experiment; for other sizes it is made anew.
std::vector<double> predictions(problems::placement::StoredProgram const& program,
                                std::vector<std::uint64_t> const& sizes) {
    auto const share =
        program.request == config::Request::all_gather ? 1.0 / static_cast<double>(program.groups.front().size()) : 1.0;
    std::vector<double> list;
    for (auto const size : sizes)
        list.push_back(size == program.payload
                           ? program.predicted_us
                           : 1e6 * placement::pipelined_seconds(program.lowered, program.hierarchy,
                                                                static_cast<double>(size), program.segments, share));
    return list;
}

collectives::Plan plan_of(problems::placement::StoredProgram const& program, std::vector<std::uint64_t> const& sizes) {
    return {.id = program.id,
            .task = fmt::format("placement {}, reduction {}", program.placement, program.reduction),
            .text = program.program,
            .steps = program.lowered,
            .groups = program.groups,
            .segments = program.segments,
            .request = static_cast<collectives::Request>(program.request),
            .predicted_us = predictions(program, sizes)};
}

collectives::Job job_of(CollectivesArguments const& arguments) {
    if (arguments.run.empty())
        throw base::InputError("there is nothing to execute: name the folder of a run of a placement search, or "
                               "--calibrate -o hardware.yaml");
    collectives::Job job{{}, options_of(arguments)};
    auto const summary = analysis::load_summary(arguments.run);
    auto const config = config::parse_experiment(summary.record.config, "the stored experiment");
    auto const* own = std::get_if<config::PlacementConfig>(&config.problem);
    if (own == nullptr)
        throw base::InputError("{}: its problem is {}, which has no programs of collectives: give a run whose "
                               "problem.kind is placement",
                               arguments.run, summary.record.problem_kind);
    for (auto const& program : problems::placement::stored_programs(*own, summary.record.results, arguments.top))
        job.plans.push_back(plan_of(program, job.options.sizes));
    return job;
}

} // namespace

int collectives_command(CollectivesArguments const& arguments) {
    if (arguments.calibrate) return collectives::calibrate(arguments.output, [&] { return options_of(arguments); });
    return collectives::measure([&] { return job_of(arguments); });
}

} // namespace espalier::app
