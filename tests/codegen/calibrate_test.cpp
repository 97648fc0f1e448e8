#include "espalier/codegen/calibrate.hpp"

#include "espalier/base/system.hpp"
#include "support/compiled.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <fstream>
#include <thread>

namespace espalier::codegen {
namespace {

namespace fs = std::filesystem;

/// Measured only for a moment, once for all tests.
struct Calibrated : testing::Test {
    static void SetUpTestSuite() {
        folder = new compiled::Folder;
        made = calibrate({.seconds = 0.01, .folder = folder->path()});
    }
    static void TearDownTestSuite() { delete folder; }
    static fs::path file() {
        for (auto const& entry : fs::directory_iterator(folder->path())) return entry.path();
        return {};
    }
    static inline compiled::Folder* folder = nullptr;
    static inline Calibration made;
};

TEST_F(Calibrated, rates_are_positive_and_all_cores_are_as_fast_as_one_at_least) {
    for (auto const& rate : {made.memory, made.last_cache, made.near_cache, made.f32, made.f64}) {
        EXPECT_TRUE(std::isfinite(rate.one) && rate.one > 0);
        EXPECT_GE(rate.all, rate.one);
    }
    EXPECT_GT(made.fork_ns, 0);
    EXPECT_GE(made.last_cache_bytes, made.near_cache_bytes);
    EXPECT_GE(made.near_cache_bytes, 64u << 10);
    EXPECT_EQ(made.cores, base::affinity_cores());
}

TEST_F(Calibrated, the_numbers_are_kept_and_no_other_file_is_left) {
    EXPECT_EQ(known_calibration(folder->path()), made);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder->path()), {}), 1);
}

TEST_F(Calibrated, nothing_is_known_where_nothing_is_kept) {
    EXPECT_EQ(known_calibration(folder->path() / "elsewhere"), std::nullopt);
}

TEST_F(Calibrated, a_damaged_file_or_one_of_another_machine_is_not_believed) {
    std::ifstream in(file());
    std::string const good{std::istreambuf_iterator<char>(in), {}};
    auto const with = [&](std::string text) {
        std::ofstream(file()) << text;
        return known_calibration(folder->path());
    };
    auto const replaced = [&](std::string const& from, std::string const& to) {
        auto text = good;
        return text.replace(text.find(from), from.size(), to);
    };

    EXPECT_EQ(with(""), std::nullopt);
    EXPECT_EQ(with(good.substr(0, good.size() / 2)), std::nullopt);
    EXPECT_EQ(with("[1, 2]"), std::nullopt);
    EXPECT_EQ(with(replaced("\"cores\": ", "\"cores\": 1")), std::nullopt);
    EXPECT_EQ(with(replaced("\"cpu\": \"", "\"cpu\": \"another ")), std::nullopt);
    EXPECT_EQ(with(replaced("\"fork_ns\": ", "\"fork_ns\": -")), std::nullopt);
    EXPECT_EQ(with(replaced("\"memory\"", "\"memories\"")), std::nullopt);
    EXPECT_EQ(with(good), made);
}

TEST(Calibrate, stops_within_a_moment_when_the_run_stops) {
    compiled::Folder const folder;
    std::atomic<bool> stops = false;
    std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        stops = true;
    });

    EXPECT_THROW((void)calibrate({.seconds = 3600, .folder = folder.path(), .stop = base::StopToken(stops)}),
                 base::Stopped);
    other.join();
    EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(Calibrate, numbers_for_tiles_are_positive) {
    auto const numbers = this_machines_numbers();

    EXPECT_GT(numbers.read_bytes_per_ns, 0);
    EXPECT_GT(numbers.cache_bytes_per_ns, 0);
    EXPECT_GT(numbers.multiply_adds_per_ns, 0);
    EXPECT_GE(numbers.tile_bytes, 32 << 10);
    EXPECT_EQ(numbers.threads, base::affinity_cores());
}

} // namespace
} // namespace espalier::codegen
