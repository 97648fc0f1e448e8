#include "support/engine.hpp"

#include <gtest/gtest.h>

#include <latch>

namespace espalier::search {
namespace {

/// Ten candidates, nothing else. The first batch says how large it is and is in work until it is let go.
struct Candidates {
    struct Node {
        std::int32_t at = 0;
    };
    struct Workspace {};
    struct Result {
        std::int32_t at = 0;
    };
    struct Gate {
        std::atomic<std::size_t> first_batch{0};
        std::latch is_open{1};
    };
    Gate* gate = nullptr;

    ProblemInfo info() const { return {.kind = "candidates", .reasons = {"none"}}; }
    std::vector<Node> roots() const {
        std::vector<Node> out;
        for (std::int32_t i = 0; i < 10; ++i) out.push_back({i});
        return out;
    }
    Workspace make_workspace(Notes&) const { return {}; }
    Assessment assess(Node const&, Workspace&) const { return is_candidate(); }
    void expand(Node const&, Workspace&, Children<Node>&) const {}
    std::int32_t depth(Node const&) const { return 0; }
    void pack(Node const& node, base::Bytes& out) const { base::ByteWriter(out).put(node.at); }
    Node unpack(std::span<std::byte const> bytes) const { return {base::ByteReader(bytes).get<std::int32_t>()}; }

    std::vector<VerifyOutcome<Result>> verify(std::span<Node const> nodes, Workspace&) const {
        std::size_t none = 0;
        gate->first_batch.compare_exchange_strong(none, nodes.size());
        gate->is_open.wait();
        std::vector<VerifyOutcome<Result>> out;
        for (auto const& node : nodes) out.push_back({.result = Result{node.at}});
        return out;
    }
    ResultRecord record(Result const& result) const { return {.key = static_cast<std::uint64_t>(result.at)}; }
};
static_assert(SearchProblem<Candidates> && Verifies<Candidates>);

TEST(TaskPool, the_last_candidates_are_shared_with_other_threads_and_ranks) {
    Candidates::Gate gate;
    auto const problem = erase(Candidates{&gate});
    auto const pool = problem->make_pool({.threads = 1});
    Harvest early, late;

    pool->run([&] {
        pool->add(problem->roots());
        while (gate.first_batch == 0) pool->wait(std::chrono::milliseconds(1));
        early = pool->harvest(100);
        gate.is_open.count_down();
        while (!pool->status().is_dry) pool->wait(std::chrono::milliseconds(1));
        late = pool->harvest(0);
    });

    EXPECT_EQ(gate.first_batch, 5u) << "half of what waits, so that others find some";
    EXPECT_EQ(early.given.size(), 3u) << "half of the rest goes to another rank";
    EXPECT_EQ(early.kept.size(), 7u);
    EXPECT_EQ(late.results.size(), 7u) << "and is not verified here";
}

} // namespace
} // namespace espalier::search
