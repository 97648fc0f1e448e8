#include "espalier/search/types.hpp"

#include <gtest/gtest.h>

namespace espalier::search {
namespace {

ProblemInfo info() {
    return {.reasons = {"a", "b"}, .counters = {{"leaves", CounterKind::sum}, {"depth", CounterKind::max}}};
}

TEST(Counts, zero_has_a_place_for_every_reason_and_counter) {
    EXPECT_EQ(zero_counts(info()), (Counts{.nodes = 0, .funnel = {0, 0}, .counters = {0, 0}}));
}

TEST(Counts, adding_sums_or_takes_the_larger_by_kind) {
    Counts total{.nodes = 1, .funnel = {2, 3}, .counters = {4, 9}};

    add_to(total, {.nodes = 10, .funnel = {20, 30}, .counters = {40, 5}}, info());

    EXPECT_EQ(total, (Counts{.nodes = 11, .funnel = {22, 33}, .counters = {44, 9}}));
}

TEST(PhaseTimes, add_phase_by_phase) {
    PhaseTimes times{1, 2, 3, 4, 5, 6};

    times += {10, 20, 30, 40, 50, 60};

    EXPECT_EQ(times, (PhaseTimes{11, 22, 33, 44, 55, 66}));
}

} // namespace
} // namespace espalier::search
