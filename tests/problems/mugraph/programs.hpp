#pragma once

#include "espalier/problems/mugraph/mugraph.hpp"
#include "espalier/program/source.hpp"
#include "espalier/program/text.hpp"
#include "support/engine.hpp"

#include <set>
#include <string>
#include <vector>

/// Small searches of the superoptimizer.
namespace espalier::problems::mugraph {

inline MugraphConfig experiment(std::string const& builtin, std::vector<std::int64_t> const& sizes,
                                SpaceConfig::Preset preset) {
    MugraphConfig config;
    config.program = program::find_builtin(builtin)->make(sizes);
    config.builtin = builtin;
    config.sizes = sizes;
    config.space.from = preset;
    return config;
}
inline MugraphConfig mirage(std::string const& builtin, std::vector<std::int64_t> const& sizes) {
    return experiment(builtin, sizes, SpaceConfig::Preset::mirage);
}
/// With every schedule of a form.
inline MugraphConfig full(std::string const& builtin, std::vector<std::int64_t> const& sizes) {
    auto out = experiment(builtin, sizes, SpaceConfig::Preset::full);
    out.space.schedules = SpaceConfig::Schedules::all;
    return out;
}

/// relu(X) W in one or two graph-defined kernels: so small that everything can be tried.
inline MugraphConfig two_kernels(SpaceConfig::Schedules schedules) {
    MugraphConfig config;
    config.program.dims = {{"B", 2}, {"K", 6}, {"N", 4}};
    config.program.inputs = {{"X", {"B", "K"}}, {"W", {"K", "N"}}};
    config.program.ops = {{{"R"}, "relu", {"X"}, {}}, {{"Y"}, "matmul", {"R", "W"}, {}}};
    config.program.outputs = {"Y"};
    config.space.max_graph_kernels = 2;
    config.space.max_kernel_ops = 2;
    config.space.max_block_ops = 3;
    config.space.block_ops = {program::OpCode::matmul, program::OpCode::relu, program::OpCode::accumulate};
    config.space.schedules = schedules;
    return config;
}

inline toys::Walk search(MugraphConfig const& config, config::VerifyConfig const& verify = {}) {
    Mugraph const problem(config, verify, 1);
    return toys::search_all(problem, {.threads = 2});
}

inline std::vector<program::Graph> programs_of(toys::Walk const& walk) {
    std::vector<program::Graph> out;
    for (auto const& result : walk.results) out.push_back(program::parse_text(result.text, "result"));
    return out;
}

inline std::size_t form_count(toys::Walk const& walk) {
    std::set<std::uint64_t> forms;
    for (auto const& graph : programs_of(walk)) forms.insert(program::form_key(graph));
    return forms.size();
}
inline std::size_t distinct(toys::Walk const& walk) {
    auto const keys = toys::keys(walk.results);
    return std::set(keys.begin(), keys.end()).size();
}

} // namespace espalier::problems::mugraph
