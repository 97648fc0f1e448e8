// A program that adds everything twice, beside a right one, on `mpiexec -n 4`: it is named and left out, and the code
// says that a verification failed.

#include "cluster/collectives/plans.hpp"
#include "espalier/base/error.hpp"

using namespace espalier;
using cluster::collectives::Job;
using reduction::Collective;

int main() {
    auto const prepare = [] {
        reduction::Step const all{{0, 2, false}, Collective::all_reduce};
        Job job{{tests::plan_of({all}, {2, 2}), tests::plan_of({all, all}, {2, 2})}, {.sizes = {64}, .repeats = 6}};
        job.plans[1].id = 2;
        return job;
    };
    auto const code = cluster::collectives::measure(prepare, std::chrono::minutes(5));
    return code == static_cast<int>(base::ExitCode::verification_failed) ? 0 : 1;
}
