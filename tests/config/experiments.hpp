#pragma once

#include "espalier/config/hardware_config.hpp"
#include "espalier/config/load.hpp"
#include "espalier/problems/mugraph/mugraph_config.hpp"
#include "espalier/problems/mutation/mutation_config.hpp"
#include "espalier/problems/placement/placement_config.hpp"
#include "espalier/problems/rewrite/rewrite_config.hpp"
#include "espalier/problems/substitution/substitution_config.hpp"
#include "espalier/problems/uts/uts_config.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#ifndef ESPALIER_SOURCE_DIR
#define ESPALIER_SOURCE_DIR "."
#endif

namespace espalier::config {
using problems::mugraph::MugraphConfig;
using problems::mugraph::Prune;
using problems::mugraph::SpaceConfig;
using problems::placement::AxisConfig;
using problems::placement::Broadcast;
using problems::placement::LevelConfig;
using problems::placement::PlacementConfig;
using problems::placement::ReductionConfig;
using problems::placement::Request;
using problems::uts::named_trees;
using problems::uts::TreeParameters;
using problems::uts::TreeShape;
using problems::uts::TreeType;
using problems::uts::UtsConfig;
} // namespace espalier::config

/// Small experiments for the tests of `config`.
namespace espalier::config::testing {

/// Valid; four lines, so that what is appended starts on line 5.
inline std::string const minimal = "problem:\n  kind: uts\n  tree: T1\nresults: {path: runs/x}\n";

/// Valid; four lines too.
inline std::string const minimal_mugraph =
    "problem:\n  kind: mugraph\n  program: {builtin: rmsnorm_linear}\nresults: {path: runs/x}\n";
inline std::string const minimal_placement =
    "problem:\n  kind: placement\n  hierarchy: [{name: node, size: 1}]\nresults: {path: runs/x}\n";
inline std::string const minimal_mutation = "problem:\n  kind: mutation\n  program: {inputs: {X: [2, 4], W: [4, 2]}, "
                                            "ops: [{out: Y, op: matmul, in: [X, W]}], outputs: [Y]}\n"
                                            "results: {path: runs/x}\n";
inline std::string const minimal_rewrite = "problem:\n  kind: rewrite\n  model: m.onnx\nresults: {path: runs/x}\n";
inline std::string const minimal_substitution = "problem: {kind: substitution}\nresults: {path: runs/x}\n";

/// The sections of all kinds, without what searches them; tests/problems compares them with the list of kinds.
inline ProblemSections const& sections() {
    static ProblemSections const all{
        &problems::uts::problem_section(),       &problems::mugraph::problem_section(),
        &problems::placement::problem_section(), &problems::substitution::problem_section(),
        &problems::mutation::problem_section(),  &problems::rewrite::problem_section()};
    return all;
}
inline Experiments const& experiments() {
    static Experiments const all(sections());
    return all;
}

inline std::vector<Override> overrides(std::vector<std::string> const& texts) {
    std::vector<Override> out;
    for (auto const& text : texts) out.push_back(parse_override(text));
    return out;
}

inline RunConfig parse(std::string_view text, std::vector<std::string> const& sets = {}) {
    return experiments().parse(text, "exp.yaml", overrides(sets));
}

/// The whole report, empty if the experiment is good.
inline std::string errors_of(std::string_view text, std::vector<std::string> const& sets = {}) {
    try {
        (void)parse(text, sets);
    } catch (ConfigError const& error) {
        return error.what();
    }
    return "";
}

/// A mugraph problem of these keys, from column 11 of line 1 on.
inline std::string with_problem(std::string const& keys) {
    return "problem: {kind: mugraph, " + keys + "}\nresults: {path: x}\n";
}

inline std::string with_hardware(std::string const& hardware) {
    return with_problem("program: {builtin: lora}, hardware: " + hardware);
}

/// What a machine might have been measured to be.
inline HardwareConfig measured() {
    auto here = unmeasured_here();
    here.is_to_be_measured = false;
    here.memory_bandwidth = 34'100'000'000;
    here.launch = std::chrono::nanoseconds(1230);
    here.multiprocessors = 2;
    here.matmul_tflops = {.f16 = 0.344, .bf16 = 0.344, .f32 = 0.344, .f64 = 0.172};
    here.function_tops = 0.0095625;
    return here;
}

inline MugraphConfig mugraph(RunConfig const& config) { return config.problem.as<MugraphConfig>(); }
inline UtsConfig uts(RunConfig const& config) { return config.problem.as<UtsConfig>(); }

} // namespace espalier::config::testing
