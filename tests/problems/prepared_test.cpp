#include "espalier/problems/problems.hpp"

#include "config/experiments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// What a kind makes of an experiment before it is searched.
namespace espalier::problems {
namespace {

using config::MugraphConfig;
using config::RunConfig;
using config::testing::measured;
using config::testing::minimal;
using config::testing::parse;
using config::testing::with_hardware;

TEST(Kinds, have_the_sections_that_the_tests_of_config_read) {
    config::ProblemSections list;
    for (auto const* kind : kinds()) list.push_back(&kind->section());

    EXPECT_EQ(list, config::testing::sections());
}

TEST(MeasureSection, five_are_measured_where_the_machine_is_here_and_none_elsewhere) {
    auto const count = [](std::string const& machine, std::vector<std::string> const& sets = {}) {
        auto const config = parse(with_hardware(machine), sets);
        return kind_of(config).measured_at_end(config);
    };
    EXPECT_EQ(count("here"), 5u);
    EXPECT_EQ(count("a100"), 0u);
    EXPECT_EQ(count("here", {"measure.top=0"}), 0u);
    EXPECT_EQ(count("a100", {"measure.top=2"}), 2u);
    auto const uts = parse(minimal);
    EXPECT_EQ(kind_of(uts).measured_at_end(uts), 0u);
}

TEST(Prepared, a_resumed_run_keeps_the_machine_it_began_with) {
    auto const config = parse(with_hardware("here"));
    auto stored = config;
    auto own = stored.problem.as<MugraphConfig>();
    own.hardware = measured();
    stored.problem = mugraph::problem_section().hold(own);

    auto const prepared = kind_of(config).prepared(config, {.stored = [&] { return stored; }});

    EXPECT_EQ(prepared, stored);
    EXPECT_EQ(problem_text(prepared.problem), problem_text(stored.problem));
}

TEST(Prepared, what_names_a_machine_stays_as_it_is) {
    for (auto const& text : {with_hardware("h100"), with_hardware("{from: cpu, l2: 1MiB}"), minimal}) {
        auto const config = parse(text);
        auto const asks_nothing = []() -> std::optional<RunConfig> { throw base::InputError("asked"); };

        EXPECT_EQ(kind_of(config).prepared(config, {.stored = asks_nothing}), config);
    }
}

TEST(Prepared, a_run_for_another_machine_says_nothing_about_here) {
    auto const config = parse(with_hardware("here")), stored = parse(with_hardware("a100"));

    auto const prepared = kind_of(config).prepared(config, {.stored = [&] { return stored; }});

    EXPECT_EQ(prepared.problem.as<MugraphConfig>().hardware.name, "here");
}

} // namespace
} // namespace espalier::problems
