#include "espalier/search/team.hpp"

#include "espalier/base/error.hpp"

#include <latch>
#include <omp.h>
#include <thread>
#include <vector>

namespace espalier::search {
namespace {

/// At most `wanted`, all of them alive at once.
int threads_that_can_be_made(int wanted) {
    std::latch gate(1);
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(wanted));
    try {
        for (int i = 0; i < wanted; ++i) threads.emplace_back([&gate] { gate.wait(); });
    } catch (std::exception const&) { // no thread, or no memory for its handle
    }
    gate.count_down();
    for (auto& thread : threads) thread.join();
    return static_cast<int>(threads.size());
}

[[noreturn]] void refuse_too_few(int got, int wanted) {
    throw base::SystemError(
        "the system gave {} threads, but search.threads needs {} (one more than the working threads): lower "
        "search.threads, or raise the limits of processes and memory (ulimit -u, ulimit -v) and OMP_THREAD_LIMIT",
        got, wanted);
}

} // namespace

void run_team(int workers, std::function<void()> const& main, std::function<void(int)> const& worker) {
    int const wanted = workers + 1;
    int got = threads_that_can_be_made(workers) + 1; // libgomp ends the process if it cannot make one
    if (got != wanted) refuse_too_few(got, wanted);
    omp_set_dynamic(0); // as many threads as asked for, or an error: never silently fewer
#pragma omp parallel num_threads(wanted) default(none) shared(main, worker, got, wanted)
    {
        int const id = omp_get_thread_num();
        if (id == 0) got = omp_get_num_threads();
        if (omp_get_num_threads() == wanted) {
            if (id == 0)
                main();
            else
                worker(id - 1);
        }
    }
    if (got != wanted) refuse_too_few(got, wanted);
}

int openmp_version() { return _OPENMP; }

} // namespace espalier::search
