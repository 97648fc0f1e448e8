#include "espalier/problems/kind/measuring.hpp"

#include "support/engine.hpp"

#include <gtest/gtest.h>

#include <map>
#include <mutex>

namespace espalier::problems {
namespace {

using search::ResultRecord;

ResultRecord some_result(std::uint64_t key) {
    return {.key = key,
            .cost = 2.5 + static_cast<double>(key),
            .error_bound = 1e-9,
            .verification = search::Verification::proved,
            .text = "program " + std::to_string(key),
            .payload = base::Bytes(key, std::byte{3}),
            .found_s = 0.25};
}

/// Writes down what it is asked for.
struct Asked final : Measurer {
    void prepare(ResultRecord const& record, base::StopToken const&) const override {
        std::lock_guard const lock(mutex);
        ++prepared[record.key];
    }
    [[nodiscard]] ResultRecord measure(ResultRecord const& record, base::StopToken const& stop) const override {
        stop.check();
        std::lock_guard const lock(mutex);
        EXPECT_EQ(prepared[record.key], 1) << "compiled before it is alone";
        ++measured[record.key];
        auto out = record;
        out.payload = {std::byte{9}};
        return out;
    }
    mutable std::mutex mutex;
    mutable std::map<std::uint64_t, int> prepared, measured;
};

TEST(Measuring, a_result_travels_as_it_is) {
    Measuring const problem(nullptr, {});
    base::Bytes bytes;
    problem.pack(some_result(5), bytes);

    EXPECT_EQ(problem.unpack(bytes), some_result(5));
    EXPECT_THROW((void)problem.unpack(std::span(bytes).first(bytes.size() - 1)), base::SystemError);
}

TEST(Measuring, every_result_is_measured_once_and_keeps_everything_else) {
    for (int const threads : {1, 3}) {
        auto const asked = std::make_shared<Asked>();
        search::MeasuredRecords known;
        Measuring const problem(asked, {some_result(1), some_result(2), some_result(3)});

        auto const walk = toys::search_all(problem, {.threads = threads, .measured = &known});

        ASSERT_EQ(walk.results.size(), 3u);
        for (auto const& result : walk.results) {
            auto expected = some_result(result.key);
            expected.payload = {std::byte{9}};
            EXPECT_EQ(result, expected);
            EXPECT_EQ(asked->measured[result.key], 1);
        }
    }
}

TEST(Measuring, needs_nothing_but_roots_on_the_rank_that_has_them) {
    EXPECT_TRUE(Measuring(nullptr, {}).roots().empty());
    EXPECT_TRUE(search::engine_info(Measuring(nullptr, {})).has_measure);
    EXPECT_TRUE(Measuring(nullptr, {}).info().is_counting) << "measuring nothing is no failure";
}

} // namespace
} // namespace espalier::problems
