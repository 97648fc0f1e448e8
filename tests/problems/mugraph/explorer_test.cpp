#include "explorer.hpp"

#include "programs.hpp"

#include <gtest/gtest.h>

/// One thread's view of the tree: what it remembers changes how long it takes, never what it says.
namespace espalier::problems::mugraph {
namespace {

struct Bench {
    Bench(MugraphConfig const& config, std::size_t memo_bytes)
        : hardware(config.hardware), setup{Target(config.program), make_space(config), config.prune, 1, &hardware},
          notes(Mugraph(config, {}, 1).info()), explorer(setup, notes) {
        setup.memo_bytes = memo_bytes;
    }
    std::vector<Node> children_of(Node const& node) {
        std::vector<Node> out;
        search::Children<Node> children(out);
        explorer.replay(node);
        has_outputs = explorer.matched_outputs().has_value();
        explorer.expand(node, children);
        return out;
    }

    config::HardwareConfig hardware;
    Setup setup;
    search::Notes notes;
    Explorer explorer;
    bool has_outputs = false;
};

/// Memos that start again every 512 nodes, in the middle of anything.
TEST(Explorer, that_forgets_all_it_knew_makes_the_same_tree) {
    auto const config = mirage("rmsnorm_linear", {2, 512, 512});
    Bench remembers(config, std::size_t{1} << 40), forgets(config, 0);
    std::vector<Node> stack{Node{}};
    std::size_t complete = 0;
    for (int n = 0; n < 3000 && !stack.empty(); ++n) {
        auto const anywhere = static_cast<std::size_t>(n * 7919) % stack.size(); // by turns, so that some are complete
        auto const node = stack[n % 2 == 0 ? anywhere : stack.size() - 1];
        std::erase(stack, node);
        auto const children = remembers.children_of(node);
        ASSERT_EQ(forgets.children_of(node), children) << "node " << n;
        ASSERT_EQ(forgets.has_outputs, remembers.has_outputs);
        complete += remembers.has_outputs ? 1 : 0;
        if (stack.size() < 2000) stack.insert(stack.end(), children.begin(), children.end());
    }
    EXPECT_GT(complete, 0u);
    EXPECT_EQ(forgets.notes.values(), remembers.notes.values());
}

} // namespace
} // namespace espalier::problems::mugraph
