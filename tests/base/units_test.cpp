#include "espalier/base/units.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace espalier::base {
namespace {

using namespace std::chrono_literals;

TEST(Units, times_are_read_with_their_units) {
    EXPECT_EQ(parse_duration("200ms"), 200ms);
    EXPECT_EQ(parse_duration("10s"), 10s);
    EXPECT_EQ(parse_duration("10m"), 10min);
    EXPECT_EQ(parse_duration("10min"), 10min);
    EXPECT_EQ(parse_duration("3h50m"), 3h + 50min);
    EXPECT_EQ(parse_duration("3h 50min"), 3h + 50min);
    EXPECT_EQ(parse_duration("1.5h"), 90min);
    EXPECT_EQ(parse_duration("1d"), 24h);
    EXPECT_EQ(parse_duration("5us"), 5us);
    EXPECT_EQ(parse_duration("7ns"), 7ns);
}

TEST(Units, only_zero_needs_no_unit) {
    EXPECT_EQ(parse_duration("0"), 0ns);
    EXPECT_EQ(parse_duration("10"), std::nullopt);
    EXPECT_EQ(parse_duration("1h30"), std::nullopt);
}

TEST(Units, what_is_no_time_is_refused) {
    for (auto const* text : {"", "s", "ten s", "-1s", "1parsec", "1..5s", "99999999999d"})
        EXPECT_EQ(parse_duration(text), std::nullopt) << text;
}

TEST(Units, long_times_are_read_to_the_nanosecond) {
    for (auto const time : {9'007'199'254'740'993ns, 123'456'789'012'345'677ns, 4'000'000'000'000'000'001ns})
        EXPECT_EQ(parse_duration(format_duration(time)), time);
}

TEST(Units, sizes_are_read_with_binary_and_decimal_units) {
    EXPECT_EQ(parse_bytes("512B"), 512u);
    EXPECT_EQ(parse_bytes("512"), 512u);
    EXPECT_EQ(parse_bytes("10kB"), 10'000u);
    EXPECT_EQ(parse_bytes("1KiB"), 1024u);
    EXPECT_EQ(parse_bytes("256MiB"), 256ull << 20);
    EXPECT_EQ(parse_bytes("64GiB"), 64ull << 30);
    EXPECT_EQ(parse_bytes("1.5GiB"), 3ull << 29);
    EXPECT_EQ(parse_bytes("2TB"), 2'000'000'000'000u);
}

TEST(Units, what_is_no_size_is_refused) {
    for (auto const* text : {"", "B", "-1B", "1.5", "1 gib", "1GiB1MiB", "10s"})
        EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
}

TEST(Units, written_times_and_sizes_are_short) {
    EXPECT_EQ(format_duration(0ns), "0s");
    EXPECT_EQ(format_duration(200ms), "200ms");
    EXPECT_EQ(format_duration(90min), "1h30min");
    EXPECT_EQ(format_duration(25h), "1d1h");
    EXPECT_EQ(format_bytes(0), "0B");
    EXPECT_EQ(format_bytes(1000), "1000B");
    EXPECT_EQ(format_bytes(256ull << 20), "256MiB");
}

RC_GTEST_PROP(Units, a_written_time_reads_back, ()) {
    // Up to 100 days a sum of doubles is exact to the nanosecond.
    auto const time = Nanoseconds(*rc::gen::inRange<std::int64_t>(0, 100ll * 86'400'000'000'000));

    RC_ASSERT(parse_duration(format_duration(time)) == time);
}

RC_GTEST_PROP(Units, a_written_size_reads_back, ()) {
    auto const bytes = *rc::gen::inRange<std::uint64_t>(0, 1ull << 53);

    RC_ASSERT(parse_bytes(format_bytes(bytes)) == bytes);
}

TEST(Units, people_get_few_digits) {
    EXPECT_EQ(human_duration(12.5e-6), "12.5 us");
    EXPECT_EQ(human_duration(0.25), "250 ms");
    EXPECT_EQ(human_duration(1.23), "1.2 s");
    EXPECT_EQ(human_duration(200), "3 min 20 s");
    EXPECT_EQ(human_duration(3 * 3600 + 50 * 60), "3 h 50 min");
    EXPECT_EQ(human_bytes(512), "512 B");
    EXPECT_EQ(human_bytes(3.4 * (1 << 20)), "3.4 MiB");
    EXPECT_EQ(human_count(512), "512");
    EXPECT_EQ(human_count(4'130'071), "4.13 M");
    EXPECT_EQ(human_count(25'000), "25.0 k");
    EXPECT_EQ(human_count(2.5e9), "2.50 G");
}

TEST(Units, large_numbers_are_grouped_by_threes) {
    EXPECT_EQ(grouped(0), "0");
    EXPECT_EQ(grouped(999), "999");
    EXPECT_EQ(grouped(1000), "1,000");
    EXPECT_EQ(grouped(4130071), "4,130,071");
}

} // namespace
} // namespace espalier::base
