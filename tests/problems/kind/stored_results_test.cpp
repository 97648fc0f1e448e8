#include "espalier/problems/kind/stored_results.hpp"

#include "espalier/base/error.hpp"

#include <gmock/gmock.h>

namespace espalier::problems {
namespace {

using search::CostSource;
using search::Executed;
using search::Known;
using search::Optimality;
using search::Verification;
using ::testing::HasSubstr;

TEST(KnownText, a_word_that_all_share_stands_alone) {
    std::vector<Known> const results(3, {.verified = Verification::proved});

    EXPECT_EQ(known_text(results), "verified: proved; cost: estimated");
}

TEST(KnownText, different_words_are_counted_in_the_order_of_their_table) {
    std::vector<Known> const results{
        {Verification::partial, Executed::wrong, CostSource::measured, Optimality::gap},
        {Verification::random, Executed::no, CostSource::measured, Optimality::none},
        {Verification::random, Executed::within_tolerance, CostSource::simulated, Optimality::optimal},
        {Verification::counted, Executed::within_tolerance, CostSource::measured, Optimality::none}};

    EXPECT_EQ(known_text(results), "verified: 1 counted, 2 random, 1 partial; "
                                   "executed: 1 no, 2 within tolerance, 1 wrong; "
                                   "cost: 1 simulated, 3 measured; "
                                   "optimality: 2 none, 1 gap, 1 optimal");
}

TEST(KnownText, nothing_is_known_of_no_results) { EXPECT_EQ(known_text({}), ""); }

/// A kind that only counts.
class Counted : public ::testing::Test {
protected:
    [[nodiscard]] static std::string refusal(std::function<void(StoredResults const&)> const& ask) {
        config::RunConfig const config;
        search::ProblemInfo const info{.kind = "leaves", .reasons = {}, .counters = {}};
        search::Counts const counts;
        std::vector<search::ResultRecord> const results;
        try {
            ask(StoredResults({config, info, counts, results}));
            return "";
        } catch (base::InputError const& error) {
            return error.what();
        }
    }
};

TEST_F(Counted, has_nothing_but_counts_and_says_so) {
    EXPECT_THAT(refusal([](auto const& run) { (void)run.one(1, "text"); }), HasSubstr("kind leaves"));
    EXPECT_THAT(refusal([](auto const& run) { (void)run.whole("csv"); }), HasSubstr("no format of their own"));
    EXPECT_THAT(refusal([](auto const& run) { (void)run.view("placement", 1, ""); }), HasSubstr("have no placement"));
    EXPECT_THAT(refusal([](auto const& run) { (void)run.files(1, {"cpu", ""}); }), HasSubstr("have no files"));
    EXPECT_THAT(refusal([](auto const& run) { (void)run.measure(1); }), HasSubstr("cannot be measured"));
}

} // namespace
} // namespace espalier::problems
