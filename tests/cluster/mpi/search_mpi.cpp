// Toy problems on real ranks: every rank of `mpiexec -n N` runs this program. Rank 0 checks the answers and decides the
// code.

#include "espalier/base/log.hpp"
#include "espalier/cluster/search.hpp"
#include "support/engine.hpp"
#include "support/toys.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <unistd.h>

using namespace espalier;
using namespace espalier::toys;

namespace {

int failures = 0;

void check(bool is_right, std::string_view what) {
    if (is_right) return;
    ++failures;
    fmt::print(stderr, "wrong: {}\n", what);
}

/// One search on all ranks. The broadcasts keep searches apart: nobody starts the next one before rank 0 has ended this
/// one.
template <search::SearchProblem P>
std::optional<Walk> run(P const& problem, cluster::Communicator& comm, cluster::SearchOptions options) {
    auto const any = search::erase(problem);
    auto const folder =
        std::filesystem::temp_directory_path() / fmt::format("espalier-mpi-{}-{}", any->info().kind, getppid());
    std::unique_ptr<cluster::RunJournal> journal;
    if (comm.rank().value == 0) {
        std::filesystem::remove_all(folder);
        store::RunRecord record{
            .identity = {.problem = any->info().kind}, .problem_kind = any->info().kind, .info = any->info()};
        record.executions.resize(1);
        journal = std::make_unique<cluster::RunJournal>(store::RunFolder({folder, false}, record.identity), record);
        journal->write_record();
    }
    auto const name = comm.broadcast([&] {
        base::Bytes bytes;
        base::ByteWriter(bytes).put_text(folder.string());
        return bytes;
    }());
    options.folder = base::ByteReader(name).get_text();
    options.shows_progress = false;
    auto const outcome = cluster::search(*any, options, comm, journal.get());
    (void)comm.broadcast({});
    if (!journal) return std::nullopt;
    check(outcome.reason == search::StopReason::complete, "stop reason");
    check(outcome.lost_ranks == 0, "lost ranks");
    Walk walk{outcome.counts, journal->record().results};
    std::ranges::sort(walk.results, {}, [](auto const& r) { return std::tie(r.cost, r.key, r.text); });
    journal.reset();
    std::filesystem::remove_all(folder);
    return walk;
}

void search_toys(cluster::Communicator& comm, cluster::SearchOptions const& options) {
    Spread const tree({.expected_size = 200'000});
    if (auto const walk = run(tree, comm, options))
        check(walk->counts.nodes == tree.count().nodes, "nodes of a random tree");
    Queens const queens{8};
    if (auto const walk = run(queens, comm, options)) {
        check(keys(walk->results) == keys(toys::walk(queens).results), "queens");
        check(walk->counts == toys::walk(queens).counts, "counts of queens");
    }
    Tsp const tsp(8, base::Seed{3});
    if (auto const walk = run(tsp, comm, options))
        check(walk->results.size() == tsp.brute_force().trips, "best round trips");
    TwoStage const stages;
    if (auto const walk = run(stages, comm, options))
        check(keys(walk->results) == keys(toys::walk(stages).results), "pairs of two stages");
    BestFirst const best{6};
    if (auto const walk = run(best, comm, options)) check(!walk->results.empty(), "best-first result");
}

} // namespace

int main() {
    auto const comm = cluster::make_communicator([] { return std::chrono::minutes(1); });
    base::log::configure({.level = base::log::Level::quiet, .rank = comm->rank().value});
    for (int const threads : {1, 2})
        for (auto const policy : {base::Policy::fixed, base::Policy::omp_dynamic, base::Policy::hybrid})
            for (int const group : {200, 2})
                search_toys(*comm, {.cluster = {.policy = policy, .group = group}, .threads = threads});
    comm->finish(failures == 0 ? 0 : 1);
    if (comm->rank().value == 0)
        fmt::print("{}\n", failures == 0 ? "all answers are right" : "there were wrong answers");
    return failures == 0 ? 0 : 1;
}
