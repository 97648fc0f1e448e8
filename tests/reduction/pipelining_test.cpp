#include "espalier/reduction/lowered.hpp"

#include <gtest/gtest.h>

#include <algorithm>

/// Closed forms of pipelined programs on 3 nodes of 3 devices, where rings are always the quickest: ReduceScatter
/// inside the nodes, AllReduce between them, AllGather inside.
namespace espalier::reduction {
namespace {

struct Links {
    double bandwidth = 1e9;
    double latency = 0;
    int links = 1;
};

class ThreeByThree {
public:
    ThreeByThree(Links nodes, Links devices) : nodes_(nodes), devices_(devices) {}

    [[nodiscard]] double predicted(double bytes, int segments) const {
        Hierarchy const hierarchy{{"node", 3, nodes_.bandwidth, nodes_.latency, nodes_.links},
                                  {"gpu", 3, devices_.bandwidth, devices_.latency, devices_.links}};
        Program const program{{{1, 2, false}, Collective::reduce_scatter},
                              {{0, 1, false}, Collective::all_reduce},
                              {{1, 2, false}, Collective::all_gather}};
        auto const groups = reduction_groups({{3, 3}}, hierarchy, {0});
        return pipelined_seconds(lower(program, {3, 3}, groups), hierarchy, bytes, segments);
    }
    /// Inside: 2 rounds of a third. Between: three rings at once, 4 rounds with a ninth from each of the three devices
    /// over the NICs of a node.
    [[nodiscard]] double closed_form(double bytes, int segments) const {
        auto const part = bytes / segments;
        auto const inside = 2 * (part / 3 / devices_.bandwidth + devices_.latency);
        auto const nic = std::max(part / 3 / (nodes_.links * nodes_.bandwidth), part / 9 / nodes_.bandwidth);
        auto const between = 4 * (std::max(nic, part / 9 / devices_.bandwidth) + nodes_.latency);
        auto const device_load = (2 * part / 3 + 4 * part / 9 + 2 * part / 3) / (devices_.links * devices_.bandwidth);
        auto const nic_load = 4 * part / 3 / (nodes_.links * nodes_.bandwidth);
        auto const slowest = std::max({inside, between, device_load, nic_load});
        return inside + between + inside + (segments - 1) * slowest;
    }

private:
    Links nodes_, devices_;
};

void expect_closed_form(ThreeByThree const& system) {
    for (double const bytes : {9e9, 9e10})
        for (int const segments : {1, 2, 16}) {
            auto const expected = system.closed_form(bytes, segments);
            EXPECT_NEAR(system.predicted(bytes, segments), expected, 1e-9 * expected) << bytes << " in " << segments;
        }
}

TEST(Pipelining, between_slow_nodes_the_nic_is_the_bottleneck) { expect_closed_form({{1e9}, {100e9}}); }

/// Both steps inside a node use the links of its devices, and so does what goes out: together they are the bottleneck,
/// although no step alone is.
TEST(Pipelining, steps_that_share_links_take_turns) {
    ThreeByThree const system({1e9}, {1e9});

    expect_closed_form(system);
    auto const part = 9e9 / 16;
    EXPECT_NEAR(system.predicted(9e9, 16) - 2 * 2 * part / 3 / 1e9 - 4 * part / 3 / 1e9, 15 * (16.0 / 9) * part / 1e9,
                1e-6);
}

TEST(Pipelining, dear_messages_between_nodes) { expect_closed_form({{10e9, 1e-3}, {100e9, 1e-6}}); }
TEST(Pipelining, dear_messages_inside_nodes) { expect_closed_form({{100e9, 1e-6}, {100e9, 1e-2}}); }
/// Of an AllReduce of 3 a tree has 2 rounds; so have the others.
TEST(Pipelining, of_small_payloads_only_the_number_of_messages_counts) {
    for (auto const& [between, inside] : {std::pair(1e-3, 1e-6), {1e-6, 1e-3}}) {
        ThreeByThree const system({10e9, between}, {100e9, inside});
        for (int const segments : {1, 2, 16})
            EXPECT_NEAR(system.predicted(0, segments),
                        4 * inside + 2 * between + (segments - 1) * 2 * std::max(between, inside), 1e-12);
    }
}
TEST(Pipelining, several_nics) {
    expect_closed_form({{1e9, 1e-5, 2}, {100e9, 2e-6}});
    expect_closed_form({{1e9, 0, 3}, {5e9, 0}});
    expect_closed_form({{1e9, 0, 8}, {5e9, 0}}); // more than messages: each goes over one of them
}

TEST(Pipelining, one_segment_is_no_pipelining) {
    ThreeByThree const system({{10e9, 1e-5}, {100e9, 2e-6}});

    EXPECT_NEAR(system.predicted(9e9, 1), 2 * 2 * (3e9 / 100e9 + 2e-6) + 4 * (3e9 / 10e9 + 1e-5), 1e-9);
}

} // namespace
} // namespace espalier::reduction
