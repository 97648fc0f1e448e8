#include "remedy.hpp"

#include "programs.hpp"

#include <gtest/gtest.h>

#include <functional>

/// Programs that a single key of the space keeps from being found: that key is named, and changing it finds one.
namespace espalier::problems::mugraph {
namespace {

using program::Graph;

MugraphConfig norm_and_linear(std::int64_t hidden = 64) {
    auto out = experiment("rmsnorm_linear", {4, hidden, 96}, SpaceConfig::Preset::full);
    out.space.max_kernel_ops = 1;
    out.space.max_block_ops = 5;
    return out;
}

bool finds_a_kernel(MugraphConfig const& config) {
    for (auto const& graph : programs_of(search(config)))
        if (program::graph_kernel_count(graph) > 0) return true;
    return false;
}

struct Blocked {
    char const* key;
    MugraphConfig config;
    std::function<void(SpaceConfig&)> change;
};
std::vector<Blocked> blocked() {
    std::vector<Blocked> out;
    auto const add = [&](char const* key, MugraphConfig config, auto const& block, auto const& change) {
        block(config.space);
        out.push_back({key, std::move(config), change});
    };
    add(
        "space.max_block_ops: 3", norm_and_linear(), [](SpaceConfig& to) { to.max_block_ops = 1; },
        [](SpaceConfig& to) { to.max_block_ops = 3; });
    add(
        "space.shared_memory: auto", norm_and_linear(), [](SpaceConfig& to) { to.shared_memory_bytes = 16; },
        [](SpaceConfig& to) { to.shared_memory_bytes = 0; });
    add(
        "space.blocks.min: 1", norm_and_linear(), [](SpaceConfig& to) { to.min_blocks = 1000; },
        [](SpaceConfig& to) { to.min_blocks = 1; });
    add(
        "space.max_loop: auto", norm_and_linear(400'000), [](SpaceConfig& to) { to.max_loop = 1; },
        [](SpaceConfig& to) { to.max_loop = 0; });
    add(
        "space.block_ops: auto", norm_and_linear(), [](SpaceConfig& to) { to.block_ops = {program::OpCode::exp}; },
        [](SpaceConfig& to) { to.block_ops.clear(); });
    return out;
}

TEST(Remedy, is_the_one_key_that_is_in_the_way) {
    for (auto const& [key, config, change] : blocked()) {
        SCOPED_TRACE(key);
        auto changed = config;
        change(changed.space);

        EXPECT_EQ(find_remedy(config).value_or("none"), key);
        EXPECT_FALSE(finds_a_kernel(config));
        EXPECT_TRUE(finds_a_kernel(changed));
    }
}

} // namespace
} // namespace espalier::problems::mugraph
