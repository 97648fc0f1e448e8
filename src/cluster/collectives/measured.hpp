#pragma once

#include "espalier/base/error.hpp"
#include "espalier/base/json.hpp"
#include "espalier/cluster/collectives/execution.hpp"
#include "espalier/cluster/collectives/statistics.hpp"

#include <optional>

namespace espalier::cluster::collectives {

/// A program or an algorithm of MPI, at one size. Times in us.
struct Row {
    std::size_t id = 0; ///< 0: MPI's own
    std::string name;
    double predicted = 0; ///< NaN: unknown
    bool is_right = true;
    Interval choice;                ///< of the runs that choose
    std::optional<Interval> report; ///< of fresh runs
};

struct SizeResult {
    std::uint64_t bytes = 0;
    std::size_t elements = 0;
    std::vector<Row> programs;
    std::vector<Row> natives;          ///< the first is MPI's default
    std::optional<std::size_t> chosen; ///< among the programs; none: all are wrong
    std::size_t best_native = 0;       ///< chosen like the programs
};

/// Plans with the same reduction groups and the same request compete with each other.
struct TaskResult {
    std::string name;
    Request request = Request::all_reduce;
    std::vector<SizeResult> sizes;
};

struct Report {
    Options options;
    std::vector<std::string> hosts; ///< of the ranks
    std::vector<TaskResult> tasks;
    std::uint64_t wrong = 0; ///< programs and algorithms at a size
};
[[nodiscard]] std::string heading(Options const& options, std::vector<std::string> const& hosts);
[[nodiscard]] std::string to_text(TaskResult const& task, SizeResult const& size);
[[nodiscard]] base::Json to_json(Report const& report);
/// What MPI's own collective is called.
[[nodiscard]] std::string native_name(Request request, std::string const& forced);

/// How rank 0 tells the others.
[[nodiscard]] base::Json to_json(Job const& job);
[[nodiscard]] Job job_from(base::Json const& json);

/// Collective: calls `prepare` on rank 0 and returns its JSON on all ranks, or an exit code if it threw; then rank 0
/// has said why.
struct Prepared {
    base::Json json;
    int code = 0;
};
[[nodiscard]] Prepared prepare_together(World const& world, std::function<base::Json()> const& prepare);
/// Runs what communicates: an exception there ends all ranks.
[[nodiscard]] int run_together(World const& world, std::function<int()> const& work);

} // namespace espalier::cluster::collectives
