#pragma once

#include <functional>

namespace espalier::search {

/// Runs `main` on the calling thread and `worker(0) .. worker(workers - 1)` on OpenMP threads beside it, and returns
/// when all have returned. Neither may throw. Throws SystemError if the system does not give that many threads; nothing
/// ran then.
void run_team(int workers, std::function<void()> const& main, std::function<void(int)> const& worker);

/// The OpenMP specification that the compiler follows, as `201511`.
[[nodiscard]] int openmp_version();

} // namespace espalier::search
