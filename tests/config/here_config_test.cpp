#include "experiments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <unistd.h>

namespace espalier::config::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

HardwareConfig hardware(std::string const& text, std::vector<std::string> const& sets = {}) {
    return mugraph(parse(with_hardware(text), sets)).hardware;
}

TEST(Here, is_a_word_that_waits_for_its_numbers) {
    auto const here = hardware("here");

    EXPECT_EQ(here, unmeasured_here());
    EXPECT_TRUE(here.is_to_be_measured);
    EXPECT_EQ(here.name, "here");
    EXPECT_EQ(here.memory_bandwidth, find_hardware("cpu")->memory_bandwidth) << "until it has its own";
    EXPECT_EQ(hardware("a100", {"problem.hardware=here"}), unmeasured_here());
}

TEST(Here, is_written_as_the_word_until_it_was_measured_and_as_a_map_from_then_on) {
    auto config = parse(with_hardware("here"));
    EXPECT_THAT(to_yaml(config), HasSubstr("hardware: here\n"));
    EXPECT_EQ(parse(to_yaml(config)), config);

    auto own = config.problem.as<MugraphConfig>();
    own.hardware = measured();
    config.problem = problems::mugraph::problem_section().hold(own);

    EXPECT_THAT(to_yaml(config), HasSubstr("name: here\n"));
    EXPECT_THAT(to_yaml(config), HasSubstr("memory_bandwidth: 34100MB/s\n"));
    EXPECT_EQ(parse(to_yaml(config)), config);
    EXPECT_THAT(problem_text(config.problem), HasSubstr("34100MB/s")) << "the numbers decide the answer";
}

TEST(Here, cannot_be_changed_by_keys_before_it_has_numbers) {
    auto const remedy = HasSubstr("espalier hardware --calibrate -o here.yaml");
    EXPECT_THAT(errors_of(with_hardware("{from: here, l2: 1MiB}")), remedy);
    EXPECT_THAT(errors_of(with_hardware("{from: here, l2: 1MiB}")), HasSubstr("'problem.hardware.from'"));
    EXPECT_THAT(errors_of(with_hardware("here"), {"problem.hardware.l2=1MiB"}), remedy);
}

TEST(Here, is_offered_where_a_word_is_wrong) {
    EXPECT_THAT(errors_of(with_hardware("her")), HasSubstr("did you mean 'here'?"));
}

TEST(Here, the_file_of_a_machine_is_read_as_that_machine) {
    auto const file = std::filesystem::path(::testing::TempDir()) / ("here-" + std::to_string(getpid()) + ".yaml");
    auto const text = hardware_file_text(measured(), "two lines\nabout it");
    std::ofstream(file) << text;

    EXPECT_EQ(hardware(file.string()), measured());
    EXPECT_THAT(text, ::testing::StartsWith("# two lines\n# about it\nname: here "));
    EXPECT_THAT(text, HasSubstr("# size of the last-level cache\n"));
    std::filesystem::remove(file);
}

TEST(MeasureSection, says_what_is_measured_at_the_end) {
    auto const config = parse(minimal_mugraph + "measure: {top: 3, seconds: 2.5, times: some/times.h5}\n");

    EXPECT_EQ(config.measure, (MeasureConfig{.top = 3, .seconds = 2.5, .times = "some/times.h5"}));
    EXPECT_EQ(parse(minimal_mugraph).measure, MeasureConfig{});
    EXPECT_EQ(parse(minimal_mugraph).measure.top, MeasureConfig::automatic);
    EXPECT_EQ(parse(to_yaml(config)), config);
    EXPECT_THAT(to_yaml(parse(minimal_mugraph)), HasSubstr("measure:\n  top: auto\n  seconds: 30\n  times: auto\n"));
}

TEST(MeasureSection, is_checked) {
    EXPECT_THAT(errors_of(minimal_mugraph + "measure: {top: -2}\n"), HasSubstr("5:16"));
    EXPECT_THAT(errors_of(minimal_mugraph + "measure: {seconds: 0}\n"), HasSubstr("'measure.seconds'"));
    EXPECT_THAT(errors_of(minimal_mugraph + "measure: {tops: 2}\n"), HasSubstr("did you mean 'top'?"));
}

TEST(MeasureSection, is_refused_where_it_stands_by_kinds_that_measure_nothing) {
    EXPECT_THAT(errors_of(minimal + "measure: {top: 5}\n"), HasSubstr("5:11"));
    EXPECT_THAT(errors_of(minimal + "measure: {top: 5}\n"),
                HasSubstr("'measure.top' has no meaning here (kind: uts never reads it, only mugraph does)"));
    EXPECT_THAT(errors_of(minimal_placement, {"measure.seconds=3"}), HasSubstr("--set measure.seconds=3: error:"));
    EXPECT_EQ(errors_of(minimal + "measure: {top: auto}\n"), "");
}

TEST(MeasureSection, is_not_part_of_the_identity_of_a_run) {
    auto const plain = parse(minimal_mugraph), other = parse(minimal_mugraph, {"measure.top=7", "measure.times=x.h5"});

    EXPECT_EQ(identity_text(plain), identity_text(other));
    EXPECT_EQ(problem_text(plain.problem), problem_text(other.problem));
}

} // namespace
} // namespace espalier::config::testing
