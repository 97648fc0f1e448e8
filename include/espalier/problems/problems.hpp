#pragma once

#include "espalier/base/json.hpp"
#include "espalier/config/run_config.hpp"
#include "espalier/search/any_problem.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::problems {

/// The problem that an experiment names.
[[nodiscard]] std::unique_ptr<search::AnyProblem> make(config::RunConfig const& config);

/// Everything of a stored run that a problem needs to tell it in its own words.
struct StoredRun {
    config::RunConfig const& config;
    search::ProblemInfo const& info;
    search::Counts const& counts;
    std::vector<search::ResultRecord> const& results;
};

/// What a problem says of a run, e.g. `{nodes, leaves, depth}`; goes under its kind. Null if it has nothing to say.
[[nodiscard]] base::Json summary(StoredRun const& run);
/// `{results: [...], input: {...}}`, the best first; `top` 0: all. Null for a problem without results.
[[nodiscard]] base::Json results(StoredRun const& run, std::size_t top);
/// The funnel and a table of the best results, for people. Empty for a problem without.
[[nodiscard]] std::string funnel_text(StoredRun const& run);
[[nodiscard]] std::string results_text(StoredRun const& run, std::size_t top);
/// Result number `id`, counted from 1 with the best first, in one of the problem's formats. Throws InputError.
[[nodiscard]] std::string one_result(StoredRun const& run, std::size_t id, std::string const& format);

/// What checking a stored result again says.
struct Recheck {
    std::size_t id = 0;
    std::uint64_t key = 0;
    bool holds = false;
    bool is_proved = false;
    std::int64_t elements = 0;
    double error_bound = 1;
    std::string reason;
};
enum class Scope : std::uint8_t { sampled, every_element };
/// Every result again, the best first, from what is stored and with fresh randomness. Throws InputError if the problem
/// has none.
void verify_again(StoredRun const& run, std::uint64_t seed, Scope scope,
                  std::function<void(Recheck const&)> const& visit);
/// What a result that holds is, and how that was found out: `equal to the input (...)`.
[[nodiscard]] std::string recheck_claim(StoredRun const& run, Scope scope);

} // namespace espalier::problems
