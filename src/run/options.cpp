#include "options.hpp"

#include "espalier/base/log.hpp"
#include "espalier/base/system.hpp"
#include "espalier/base/terminal.hpp"

#include <algorithm>

namespace espalier::run {
namespace {

std::uint64_t memory_limit(config::MemoryLimit const& limit, cluster::Communicator const& comm) {
    if (limit.bytes > 0) return limit.bytes;
    auto const share = static_cast<double>(base::available_memory_bytes()) / comm.ranks_sharing_cores();
    return static_cast<std::uint64_t>(limit.fraction * share);
}

} // namespace

int threads_of(config::RunConfig const& config, cluster::Communicator const& comm) {
    auto const cores = base::affinity_cores();
    auto const sharing = comm.ranks_sharing_cores();
    auto const threads = config.search.threads > 0 ? config.search.threads : std::max(1, cores / sharing);
    auto const own = comm.hosts().begin() + comm.rank().value;
    auto const is_first_of_host = std::find(comm.hosts().begin(), own, *own) == own;
    if (threads * sharing > cores && is_first_of_host)
        base::log::warn(
            "{} rank{} x {} thread{} share {} core{} ({}): they will take turns (fewer ranks, lower search.threads, or "
            "more cores per task)",
            sharing, sharing == 1 ? "" : "s", threads, threads == 1 ? "" : "s", cores, cores == 1 ? "" : "s",
            base::affinity_text());
    return threads;
}

cluster::SearchOptions options_of(config::RunConfig const& config, cluster::Communicator const& comm) {
    return {.cluster = config.cluster,
            .limits = {config.search.max_time.count(), config.search.max_nodes, config.search.max_results},
            .threads = threads_of(config, comm),
            .memory_bytes = memory_limit(config.search.memory, comm),
            .verify_batch = static_cast<std::size_t>(config.search.verify_batch),
            .trace = {config.trace.enabled, config.trace.limit_bytes},
            .folder = config.results.path,
            .is_terminal = comm.rank().value == 0 && base::is_stderr_seen()};
}

} // namespace espalier::run
