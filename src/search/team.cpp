#include "espalier/search/team.hpp"

#include "espalier/base/error.hpp"

#include <omp.h>

namespace espalier::search {

void run_team(int workers, std::function<void()> const& main, std::function<void(int)> const& worker) {
    int const wanted = workers + 1;
    int got = 0;
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
    if (got != wanted)
        throw base::SystemError(
            "OpenMP gave {} threads, but search.threads needs {} (one more than the working threads): "
            "lower search.threads, or raise OMP_THREAD_LIMIT and the limit of processes (ulimit -u)",
            got, wanted);
}

int openmp_version() { return _OPENMP; }

} // namespace espalier::search
