#include "expr/random_terms.hpp"

#include <gtest/gtest.h>

namespace espalier::expr {
namespace {

using Answer = Expressions::Answer;

TEST(RandomParts, an_expression_is_a_part_of_every_context_around_it) {
    int tried = 0;
    for (std::uint64_t seed = 0; seed < 100'000; ++seed) {
        Expressions in;
        RandomTerms random(in, seed);
        auto const e = random.term(4);
        auto const whole = is_small(e) ? random.context(e, 6) : e;
        if (!is_small(whole)) continue;
        in.set_targets({{whole.id}});

        ASSERT_EQ(in.is_part(e.id, in.pattern(f_splits_k())), Answer::yes) << seed << ": " << e << " in " << whole;
        ++tried;
    }
    EXPECT_GT(tried, 75'000);
}

TEST(RandomParts, a_part_of_a_part_is_a_part) {
    int chains = 0;
    for (std::uint64_t seed = 0; seed < 4'000; ++seed) {
        Expressions in;
        auto const pattern = in.pattern(f_splits_k());
        RandomTerms random(in, seed);
        auto const whole = random.term(5);
        std::vector<Term> terms;
        for (int i = 0; i < 12; ++i) terms.push_back(random.term(2));
        if (!is_small(whole)) continue;
        in.set_targets({{whole.id}});
        std::vector<Answer> in_whole;
        for (auto const t : terms) in_whole.push_back(in.is_part(t.id, pattern));

        for (std::size_t i = 0; i < terms.size(); ++i) {
            if (in_whole[i] != Answer::yes) continue;
            in.set_targets({{terms[i].id}});
            for (std::size_t k = 0; k < terms.size(); ++k) {
                if (in.is_part(terms[k].id, pattern) != Answer::yes) continue;
                ASSERT_EQ(in_whole[k], Answer::yes)
                    << seed << ": " << terms[k] << " in " << terms[i] << " in " << whole;
                chains += i != k;
            }
        }
    }
    EXPECT_GT(chains, 1'000);
}

TEST(RandomParts, answers_do_not_depend_on_what_was_asked_before) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        Expressions together;
        RandomTerms random(together, seed);
        auto const target = random.term(5);
        if (!is_small(target)) continue;
        together.set_targets({{target.id}});
        for (int i = 0; i < 20; ++i) (void)together.is_part(random.term(3).id, together.pattern(f_splits_k()));
        auto const last = random.term(3);

        Expressions alone;
        RandomTerms again(alone, seed);
        auto const same_target = again.term(5);
        for (int i = 0; i < 20; ++i) (void)again.term(3);
        auto const same_last = again.term(3);
        alone.set_targets({{same_target.id}});

        if (last.id == Expressions::too_large) continue;
        EXPECT_EQ(together.is_part(last.id), alone.is_part(same_last.id)) << seed;
    }
}

TEST(RandomParts, most_expressions_are_no_parts_of_others) {
    int asked = 0, no = 0;
    for (std::uint64_t seed = 0; seed < 5'000; ++seed) {
        Expressions in;
        RandomTerms random(in, seed);
        auto const whole = random.term(5), e = random.term(3);
        if (!is_small(whole)) continue;
        in.set_targets({{whole.id}});

        auto const answer = in.is_part(e.id, in.pattern(f_splits_k()));
        ASSERT_NE(answer, Answer::unknown);
        ++asked;
        no += answer == Answer::no;
    }
    EXPECT_GT(no, asked / 2);
}

} // namespace
} // namespace espalier::expr
