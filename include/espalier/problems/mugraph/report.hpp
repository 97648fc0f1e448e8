#pragma once

#include "espalier/base/json.hpp"
#include "espalier/config/run_config.hpp"
#include "espalier/search/types.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// Runs of the superoptimizer in words: all from the stored results alone.
namespace espalier::problems::mugraph {

using Records = std::vector<search::ResultRecord>;

/// The cheapest first; equal costs by key. Place i is program i + 1 of `show`.
[[nodiscard]] Records ranked(Records records);

/// `{states, candidates_examined, expressions, solver_queries, algebraic_forms}`.
[[nodiscard]] base::Json summary_json(search::ProblemInfo const& info, search::Counts const& counts,
                                      Records const& records);
/// One object a result: `{id, key, cost_us, speedup, kernels, graph_kernels, loop_range, verified, error_bound, scope,
/// sampled_elements, text}`. `top` 0: all.
[[nodiscard]] base::Json results_json(config::MugraphConfig const& config, Records const& records, std::size_t top);
/// The program that was searched, in the same terms.
[[nodiscard]] base::Json input_json(config::MugraphConfig const& config);
/// A table of the cheapest, and the input program below it.
[[nodiscard]] std::string results_text(config::MugraphConfig const& config, Records const& records, std::size_t top);
/// states -> rejected by reason -> candidates -> verified -> proved; and if nothing was found, what ate most.
[[nodiscard]] std::string funnel_text(search::ProblemInfo const& info, search::Counts const& counts,
                                      Records const& records);
/// text, dot, svg, json or yaml. Throws InputError for another format.
[[nodiscard]] std::string program_in(search::ResultRecord const& record, std::string const& format);

/// What checking one stored program again says.
struct Recheck {
    bool is_equal = false;
    bool is_proved = false;
    std::int64_t elements = 0; ///< compared, a test
    double error_bound = 1;    ///< that every test passes although a compared element differs
    std::string reason;        ///< if it is not equal
};
enum class Scope : std::uint8_t { sampled, every_element };
[[nodiscard]] Recheck verify_again(config::MugraphConfig const& config, config::VerifyConfig const& options,
                                   search::ResultRecord const& record, std::uint64_t seed, Scope scope);

} // namespace espalier::problems::mugraph
