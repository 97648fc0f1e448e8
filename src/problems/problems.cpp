#include "espalier/problems/problems.hpp"

#include <algorithm>

namespace espalier::problems {
namespace {

config::ProblemSections sections() {
    config::ProblemSections list;
    for (auto const* kind : kinds()) list.push_back(&kind->section());
    return list;
}

} // namespace

config::Experiments const& experiments() {
    static config::Experiments const all(sections());
    return all;
}

Kind const& kind_of(config::RunConfig const& config) {
    return **std::ranges::find(kinds(), &config.problem.section(), [](Kind const* kind) { return &kind->section(); });
}

std::unique_ptr<search::AnyProblem> make(config::RunConfig const& config) { return kind_of(config).make(config); }

Experiment load(std::filesystem::path const& file, std::vector<config::Override> const& overrides) {
    Experiment out;
    out.config = experiments().load(file, overrides, [&](auto const& config) { out.problem = make(config); });
    return out;
}

std::unique_ptr<StoredResults> open(StoredRun run) { return kind_of(run.config).open(std::move(run)); }

} // namespace espalier::problems
