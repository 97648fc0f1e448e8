#include "programs.hpp"

#include <gmock/gmock.h>

/// Branch and bound: bounds that hold for everything below, and an answer that is exactly the cheapest programs.
namespace espalier::problems::mugraph {
namespace {

std::vector<MugraphConfig> experiments() {
    auto few = full("gated_mlp", {4, 12, 8});
    few.space.max_kernel_ops = 1;
    few.space.max_block_ops = 5;
    return {mirage("rmsnorm_linear", {2, 512, 512}), few, two_kernels(SpaceConfig::Schedules::all)};
}

/// Machines on which other parts of the cost decide than on the one of experiments(): rates, latency, launches of times
/// that no float has.
std::vector<config::HardwareConfig> other_machines() {
    auto slow = *config::find_hardware("a100"), odd = slow;
    slow.latency = std::chrono::microseconds(7);
    slow.l2_bandwidth = slow.memory_bandwidth / 4;
    odd.launch = std::chrono::nanoseconds(1237);
    odd.latency = std::chrono::nanoseconds(331);
    odd.memory_bandwidth = 999'999'937;
    odd.matmul_units = 3;
    odd.sector = 24;
    return {*config::find_hardware("cpu"), slow, odd};
}
/// All on one machine, the smallest on the others as well.
std::vector<MugraphConfig> experiments_on_all_machines() {
    auto out = experiments();
    for (auto const& hardware : other_machines()) {
        auto small = out[2];
        small.hardware = hardware;
        out.push_back(small);
    }
    return out;
}

/// Every program below a node with the bounds of all its prefixes.
template <class See>
class Prefixes {
public:
    Prefixes(CheapestMugraph const& problem, See see)
        : problem_(problem), see_(std::move(see)), notes_(problem.info()), workspace_(problem.make_workspace(notes_)) {}

    void run() {
        for (auto const& root : problem_.roots()) go(root);
    }

private:
    void go(Node const& node) {
        bounds_.push_back(problem_.bound(node));
        std::vector<Node> children;
        search::Children<Node> taken(children);
        if (problem_.assess(node, workspace_).action == search::Assessment::Action::expand)
            problem_.expand(node, workspace_, taken);
        else if (auto const outcome = problem_.verify(std::span(&node, 1), workspace_).at(0); outcome.result)
            see_(problem_.record(*outcome.result).cost, bounds_);
        for (auto const& child : children) go(child);
        bounds_.pop_back();
    }

    CheapestMugraph const& problem_;
    See see_;
    search::Notes notes_;
    Mugraph::Workspace workspace_;
    std::vector<double> bounds_;
};

TEST(Bound, of_every_prefix_is_at_most_the_cost) {
    for (auto const& config : experiments_on_all_machines()) {
        CheapestMugraph const problem(config, {}, 1);
        std::size_t programs = 0;
        Prefixes(problem, [&](double cost, std::vector<double> const& bounds) {
            ++programs;
            for (auto const bound : bounds) EXPECT_LE(bound, cost);
            EXPECT_NEAR(bounds.back(), cost, 1e-6 * cost);
        }).run();
        EXPECT_GT(programs, 5u);
    }
}

TEST(Bound, the_answer_of_branch_and_bound_is_exactly_the_cheapest_programs) {
    for (auto const& config : experiments_on_all_machines()) {
        auto const all = search(config);
        auto const best = toys::search_all(CheapestMugraph(config, {}, 1), {.threads = 2});
        std::set<std::uint64_t> cheapest, found;
        for (auto const& result : all.results)
            if (result.cost == all.results.front().cost) cheapest.insert(result.key);
        for (auto const& result : best.results) found.insert(result.key);

        EXPECT_EQ(found, cheapest);
        EXPECT_LE(best.counts.nodes, all.counts.nodes);
    }
}

} // namespace
} // namespace espalier::problems::mugraph
