#include "remedy.hpp"

#include "espalier/base/error.hpp"
#include "espalier/problems/mugraph/mugraph.hpp"
#include "espalier/problems/mugraph/space.hpp"

#include <fmt/format.h>

#include <vector>

namespace espalier::problems::mugraph {
namespace {

/// One key with another value.
struct Change {
    std::string key;
    MugraphConfig config;
};

class Changes {
public:
    explicit Changes(MugraphConfig const& config) : config_(config), space_(make_space(config)) {}

    /// First keys that were made narrower than necessary: they are more likely to be in the way.
    std::vector<Change> run() {
        widen_numbers();
        widen_lists();
        for (int more = 1; more <= 3; ++more)
            raise("max_block_ops", &SpaceConfig::max_block_ops, space_.max_block_ops + more);
        for (int more = 1; more <= 2; ++more)
            raise("max_kernel_ops", &SpaceConfig::max_kernel_ops, space_.max_kernel_ops + more);
        for (auto kernels = space_.graph_kernels + 1; kernels <= max_graph_kernels; ++kernels)
            raise("max_graph_kernels", &SpaceConfig::max_graph_kernels, kernels);
        raise("max_outputs", &SpaceConfig::max_outputs, space_.max_outputs + 1);
        raise("grid_dims", &SpaceConfig::grid_dims, space_.grid_dims + 1);
        if (config_.space.from == SpaceConfig::Preset::mirage)
            change("from: full", [](SpaceConfig& space) { space.from = SpaceConfig::Preset::full; });
        change("unsafe_softmax: true", [](SpaceConfig& space) { space.unsafe_softmax = true; });
        return std::move(out_);
    }

private:
    template <class Set>
    void change(std::string key, Set const& set) {
        out_.push_back({std::move(key), config_});
        set(out_.back().config.space);
        if (out_.back().config.space == config_.space) out_.pop_back();
    }
    void raise(std::string_view key, std::int32_t SpaceConfig::*member, int value) {
        change(fmt::format("{}: {}", key, value), [&](SpaceConfig& space) { space.*member = value; });
    }
    void widen_numbers() {
        auto const& space = config_.space;
        if (space.shared_memory_bytes > 0)
            change("shared_memory: auto", [](SpaceConfig& to) { to.shared_memory_bytes = 0; });
        if (space.max_outputs > 0) change("max_outputs: auto", [](SpaceConfig& to) { to.max_outputs = 0; });
        if (space.max_loop > 0) change("max_loop: auto", [](SpaceConfig& to) { to.max_loop = 0; });
        if (space.min_blocks > 1) change("blocks.min: 1", [](SpaceConfig& to) { to.min_blocks = 1; });
        if (space.max_blocks > 0) change("blocks.max: auto", [](SpaceConfig& to) { to.max_blocks = 0; });
        if (space.liveness == false) change("liveness: true", [](SpaceConfig& to) { to.liveness = true; });
    }
    void widen_lists() {
        auto const& space = config_.space;
        if (!space.loops.empty()) change("loops: auto", [](SpaceConfig& to) { to.loops.clear(); });
        if (!space.tiles.empty()) change("tiles: auto", [](SpaceConfig& to) { to.tiles.clear(); });
        if (!space.kernel_ops.empty()) change("kernel_ops: auto", [](SpaceConfig& to) { to.kernel_ops.clear(); });
        if (!space.block_ops.empty()) change("block_ops: auto", [](SpaceConfig& to) { to.block_ops.clear(); });
    }

    MugraphConfig const& config_;
    Space space_;
    std::vector<Change> out_;
};

/// What a search finds: nothing, programs of library kernels as the input is one, or others.
enum class Finds : std::uint8_t { nothing, library_kernels, graph_kernels };

/// Depth first, until the first program that is verified and has a graph-defined kernel.
Finds what_is_found(MugraphConfig const& config, std::uint64_t nodes) {
    config::VerifyConfig verify;
    verify.device = config::Device::cpu;
    Mugraph const problem(config, verify, 1);
    auto const info = problem.info();
    search::Notes notes(info);
    auto workspace = problem.make_workspace(notes);
    auto stack = problem.roots();
    auto out = Finds::nothing;
    for (int stage = 0; !stack.empty(); stack = problem.next_stage(stage++, {}))
        for (; !stack.empty(); --nodes) {
            if (nodes == 0) return out;
            auto const node = stack.back();
            stack.pop_back();
            search::Children<Node> children(stack);
            if (problem.assess(node, workspace).action == search::Assessment::Action::expand)
                problem.expand(node, workspace, children);
            else if (auto const result = problem.verify(std::span(&node, 1), workspace).front().result) {
                if (program::graph_kernel_count(result->graph) > 0) return Finds::graph_kernels;
                out = Finds::library_kernels;
            }
        }
    return out;
}

} // namespace

std::optional<std::string> find_remedy(MugraphConfig const& config, std::uint64_t nodes) {
    std::optional<std::string> second_best;
    for (auto const& [key, changed] : Changes(config).run()) {
        try {
            auto const found = what_is_found(changed, nodes);
            if (found == Finds::graph_kernels) return "space." + key;
            if (found == Finds::library_kernels && !second_best) second_best = "space." + key;
        } catch (base::InputError const&) { // a limit beyond what is supported
        }
    }
    return second_best;
}

} // namespace espalier::problems::mugraph
