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

Plan make_plan(Forest const& forest, double work, std::uint64_t workers, std::uint64_t seed) {
    Plan plan{.replay = {.forest = forest, .seed = seed}};
    if (work == 1) return plan;
    auto const total = static_cast<double>(forest.total_ns());
    auto const most = most_chunks(workers);
    auto& replay = plan.replay;
    for (auto grain = total * work / most; work * static_cast<double>(replay.forest.chunks.size()) > most;) {
        plan.grain_ns = std::max<std::int64_t>(std::llround(grain), 1);
        replay.forest = join(forest, plan.grain_ns);
        if (replay.forest.chunks.size() == 1) break;
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
