#include "espalier/cluster/collectives/calibration.hpp"

#include "espalier/base/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace espalier::cluster::collectives {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

FittedLevel level(std::string name, int size, Line alone, Line together, int concurrent) {
    return {std::move(name), size, concurrent, {{"point-to-point", alone, together}}};
}

TEST(Hosts, ranks_of_a_host_are_a_node) {
    EXPECT_THAT(ranks_by_host({"a", "a", "b", "b"}), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
    EXPECT_THAT(ranks_by_host({"a", "a", "a"}), ElementsAre(ElementsAre(0, 1, 2)));
}

TEST(Hosts, what_is_no_hierarchy_is_refused) {
    EXPECT_THROW((void)ranks_by_host({"a", "b", "a", "b"}), base::InputError);
    EXPECT_THROW((void)ranks_by_host({"a", "a", "b"}), base::InputError);
}

/// Four messages at once through one NIC take four times as long; through four, no longer than one.
TEST(Links, are_as_many_as_do_not_slow_each_other_down) {
    EXPECT_EQ(links_of(level("node", 2, {0, 1e-9}, {0, 4e-9}, 4)), 1);
    EXPECT_EQ(links_of(level("node", 2, {0, 1e-9}, {0, 2e-9}, 4)), 2);
    EXPECT_EQ(links_of(level("node", 2, {0, 1e-9}, {0, 1e-9}, 4)), 4);
    EXPECT_EQ(links_of(level("node", 2, {0, 1e-9}, {0, 0.5e-9}, 4)), 4);
    EXPECT_EQ(links_of(level("node", 2, {0, 0}, {0, 0}, 4)), 1);
}

TEST(Yaml, is_a_hierarchy_with_units_and_three_digits) {
    Calibration const found{.levels = {level("node", 2, {10e-6, 1 / 8.0e9}, {10e-6, 2 / 8.0e9}, 2),
                                       level("core", 4, {1.2345e-6, 1 / 123.456e6}, {1e-6, 1e-9}, 1)},
                            .hosts = {"n1", "n2"},
                            .ranks = 8,
                            .mpi = "MPICH 4",
                            .date = "2026-01-31T12:00:00Z"};

    auto const text = to_yaml(found);

    EXPECT_THAT(text, HasSubstr("hierarchy:\n  - {name: node, size: 2, bandwidth: 8GB/s, latency: 10us, links: 1}\n"
                                "  - {name: core, size: 4, bandwidth: 123MB/s, latency: 1.23us, links: 1}\n"));
    EXPECT_THAT(text, HasSubstr("8 ranks on n1, n2 (MPICH 4)"));
    EXPECT_THAT(text, testing::Not(HasSubstr(" \n")));
}

/// What is fitted on a machine that is busy may be anything.
TEST(Yaml, has_no_number_that_an_experiment_cannot_have) {
    Calibration const found{
        .levels = {level("node", 2, {2, 1e-18}, {2, 1e-18}, 2), level("core", 2, {0, 1}, {0, 1}, 1)}};

    auto const text = to_yaml(found);

    EXPECT_THAT(text, HasSubstr("size: 2, bandwidth: 1000000GB/s, latency: 2000000us, links: 2"));
    EXPECT_THAT(text, HasSubstr("size: 2, bandwidth: 1kB/s, latency: 0.001us, links: 1"));
}

} // namespace
} // namespace espalier::cluster::collectives
