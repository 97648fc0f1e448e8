#pragma once

#include "espalier/base/json.hpp"
#include "espalier/problems/kind/stored_results.hpp"
#include "espalier/problems/mugraph/mugraph_config.hpp"
#include "espalier/problems/mugraph/space.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// Runs of the superoptimizer in words: all from the stored results alone.
namespace espalier::problems::mugraph {

using Records = std::vector<search::ResultRecord>;

/// `{states, candidates_examined, expressions, solver_queries, algebraic_forms}`.
[[nodiscard]] base::Json summary_json(search::ProblemInfo const& info, search::Counts const& counts,
                                      Records const& records);
/// Records are the cheapest first, as StoredResults::ranked() gives them. One object a result: `{id, key, cost_us,
/// speedup, kernels, graph_kernels, loop_range, verified, error_bound, found_s, scope, sampled_elements, form,
/// numerics, text}`. `top` 0: all. Numerics are estimated now, and after some hundred programs no more.
[[nodiscard]] base::Json results_json(MugraphConfig const& config, Records const& list, std::size_t top);
/// Of those at the given places of the list.
[[nodiscard]] base::Json results_json(MugraphConfig const& config, Records const& list,
                                      std::vector<std::size_t> const& places);
/// The machine that costs are for, in a sentence.
[[nodiscard]] std::string machine_told(MugraphConfig const& config);
/// Of the program that was searched: estimated, in us.
[[nodiscard]] double input_cost(MugraphConfig const& config);
/// The program itself, in the same terms.
[[nodiscard]] base::Json input_json(MugraphConfig const& config);
/// states -> rejected by reason -> candidates -> verified -> proved.
[[nodiscard]] search::Funnel funnel(search::ProblemInfo const& info, search::Counts const& counts,
                                    Records const& records);
/// `3 of 12 complete; then: one kernel, 4 block ops`; nothing where there is one stage.
[[nodiscard]] std::string stages_told(Space const& space, search::ProblemInfo const& info, search::Counts const& counts,
                                      std::string_view status);
/// What ate most, or that the search has not come to its end. `status` is `complete`, `running`, or why it ended.
[[nodiscard]] std::string nothing_found(search::ProblemInfo const& info, search::Counts const& counts,
                                        std::string_view status);
/// Throws InputError if a record's text is not the program that its key says.
void check_keys(Records const& records);
/// text, dot, svg, json or yaml. Throws InputError for another format.
[[nodiscard]] std::string program_in(search::ResultRecord const& record, std::string const& format);
/// The parts of its cost, and those of the input. Sums are those of the model as it is now.
[[nodiscard]] std::string explained(MugraphConfig const& config, search::ResultRecord const& record);

/// What checking one stored program again says.
struct Checked {
    bool is_equal = false;
    bool is_proved = false;
    std::int64_t elements = 0; ///< compared, a test
    double error_bound = 1;    ///< that every test passes although a compared element differs
    std::string reason;        ///< if it is not equal
};
[[nodiscard]] Checked verify_again(MugraphConfig const& config, config::VerifyConfig const& options,
                                   search::ResultRecord const& record, std::uint64_t seed, Scope scope);

} // namespace espalier::problems::mugraph
