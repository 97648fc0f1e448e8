#include "plan.hpp"

#include "espalier/base/error.hpp"

#include <algorithm>
#include <cmath>

namespace espalier::analysis::scaling {
namespace {

/// Subtrees are cut off where they are at most this share of the measured work.
constexpr std::int64_t pieces = 256;

/// Simulated chunks: enough that a worker gets many, few enough that the simulation ends soon.
double most_chunks(std::uint64_t workers) {
    return static_cast<double>(
        std::clamp<std::uint64_t>(256 * workers, std::uint64_t{1} << 20, std::uint64_t{1} << 22));
}

} // namespace

Plan make_plan(Forest const& forest, PlanOptions const& options) {
    auto const work = options.work;
    Plan plan{.replay = {.forest = forest, .seed = options.seed}};
    if (work == 1) return plan;
    auto const total = static_cast<double>(forest.total_ns());
    auto const most = most_chunks(options.workers);
    auto& replay = plan.replay;
    auto const use_grain = [&](double grain_ns) {
        plan.grain_ns = std::max<std::int64_t>(std::llround(grain_ns), 1);
        replay.forest = join(forest, plan.grain_ns);
    };
    if (options.least_grain_ns > 0) use_grain(static_cast<double>(options.least_grain_ns));
    for (auto grain = total * work / most; work * static_cast<double>(replay.forest.chunks.size()) > most;) {
        if (replay.forest.chunks.size() == 1) break;
        use_grain(std::max(grain, static_cast<double>(plan.grain_ns)));
        grain *= 1.5;
    }
    plan.piece_ns = std::max(forest.total_ns() / pieces, plan.grain_ns);
    replay.forest = cut(replay.forest, plan.piece_ns);
    auto const samples = work * static_cast<double>(replay.forest.roots);
    if (samples > 4e9)
        throw base::InputError(
            "--work x{:g}: more than 4e9 samples of a run of {:.3g} s: ask for less, or replay a longer "
            "run",
            work, 1e-9 * total);
    replay.samples = static_cast<std::uint32_t>(std::max<std::int64_t>(std::llround(samples), 1));
    if (replay.forest.chunks.size() == 1) replay.bundle = static_cast<std::uint32_t>(std::ceil(samples / most));
    return plan;
}

} // namespace espalier::analysis::scaling
