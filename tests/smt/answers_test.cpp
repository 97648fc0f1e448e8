#include "espalier/smt/answers.hpp"

#include "espalier/base/error.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace espalier::smt {
namespace {

using namespace std::chrono_literals;

/// Satisfiable if and only if i is even; takes some ms.
Answers::Question question(int i) {
    auto const text = fmt::format("(declare-const x Int)(assert (= (* x 2) {}))", i);
    return {fmt::format("is {} even", i), text};
}
Answer expected(int i) { return i % 2 == 0 ? Answer::sat : Answer::unsat; }

/// Z3 never ends by itself.
constexpr auto endless_text = R"(
    (declare-sort T)(declare-fun f (T T) T)(declare-fun g (T T) T)
    (declare-const a T)(declare-const b T)(declare-const c T)
    (assert (forall ((x T)(y T)) (= (f x y) (f y x))))
    (assert (forall ((x T)(y T)(z T)) (= (f x (f y z)) (f (f x y) z))))
    (assert (forall ((x T)(y T)(z T)) (= (g x (f y z)) (f (g x y) (g x z)))))
    (assert (not (= (g a (f b c)) (f (g a b) (g b c))))))";

/// Runs `work` on so many threads at once.
template <class Work>
void on_threads(int count, Work const& work) {
    std::vector<std::jthread> threads;
    for (int i = 0; i < count; ++i) threads.emplace_back([&work, i] { work(i); });
}

/// Again and again: a thread that has the question may not have begun the query, and an interrupt before it does
/// nothing.
template <class HasEnded>
void interrupt_until(std::initializer_list<Context*> contexts, HasEnded const& has_ended) {
    for (; !has_ended(); std::this_thread::sleep_for(1ms))
        for (auto* const context : contexts) context->interrupt();
}

TEST(Answers, every_question_is_asked_once_by_any_number_of_threads) {
    for (int const threads : {1, 2, 4, 8}) {
        Answers answers;
        std::atomic<std::uint64_t> queries = 0;

        on_threads(threads, [&](int) {
            Context context;
            for (int i = 0; i < 40; ++i) EXPECT_EQ(answers.ask(question(i), context), expected(i));
            queries += context.statistics().queries;
        });

        EXPECT_EQ(queries, 40u) << threads << " threads";
    }
}

TEST(Answers, are_known_afterwards) {
    Answers answers;
    Context context;

    EXPECT_EQ(answers.find(question(3).about), std::nullopt);
    (void)answers.ask(question(3), context);

    EXPECT_EQ(answers.find(question(3).about), Answer::unsat);
    EXPECT_EQ(answers.find(question(4).about), std::nullopt);
}

TEST(Answers, an_announced_question_has_no_answer_until_somebody_asks) {
    Answers answers;
    Context context;

    answers.announce(question(2));
    answers.announce(question(2));

    EXPECT_EQ(answers.find(question(2).about), std::nullopt);
    EXPECT_EQ(answers.ask(question(2), context), Answer::sat);
    EXPECT_EQ(context.statistics().queries, 1u);
}

TEST(Answers, a_thread_that_waits_answers_what_was_announced) {
    Answers answers;
    Context one({.rlimit = 0, .timeout_net = 0ms}), other({.rlimit = 0, .timeout_net = 0ms});
    for (int i = 0; i < 5; ++i) answers.announce(question(i));

    {
        std::atomic<int> ended = 0;
        auto const ask = [&](Context& context) {
            EXPECT_EQ(answers.ask({"endless", endless_text}, context), std::nullopt);
            ++ended;
        };
        std::jthread const first([&] { ask(one); }), second([&] { ask(other); });
        while (!answers.find(question(4).about)) std::this_thread::sleep_for(1ms);
        interrupt_until({&one, &other}, [&] { return ended == 2; });
    }

    auto const [fewer, more] = std::minmax({one.statistics().queries, other.statistics().queries});
    EXPECT_EQ(fewer, 1u);
    EXPECT_EQ(more, 5u) << "all that was announced, and not what it waited for";
    for (int i = 0; i < 5; ++i) EXPECT_EQ(answers.find(question(i).about), expected(i));
}

TEST(Answers, the_limit_of_steps_is_an_answer_and_the_wall_clock_is_none) {
    Answers answers;
    Context steps({.rlimit = 20'000}), clock({.rlimit = 0, .timeout_net = 30ms});

    EXPECT_EQ(answers.ask({"steps", endless_text}, steps), Answer::unknown);
    EXPECT_EQ(answers.ask({"clock", endless_text}, clock), std::nullopt);

    EXPECT_EQ(answers.find("steps"), Answer::unknown);
    EXPECT_EQ(answers.find("clock"), std::nullopt);
    EXPECT_EQ(answers.ask({"clock", endless_text}, steps), Answer::unknown) << "it is asked again";
}

TEST(Answers, a_thread_that_waits_wakes_when_the_run_stops) {
    Answers answers;
    Context one({.rlimit = 0, .timeout_net = 0ms}), other({.rlimit = 0, .timeout_net = 0ms});
    std::atomic<bool> is_stopping = false;
    std::atomic<int> stopped = 0, ended = 0;
    auto const ask = [&](Context& context) {
        try {
            EXPECT_EQ(answers.ask({"endless", endless_text}, context, base::StopToken(is_stopping)), std::nullopt);
        } catch (base::Stopped const&) {
            ++stopped;
        }
        ++ended;
    };

    answers.announce(question(1));
    {
        std::jthread const first([&] { ask(one); }), second([&] { ask(other); });
        while (!answers.find(question(1).about))
            std::this_thread::sleep_for(1ms); // one is in the query, the other waits
        is_stopping = true;
        while (stopped == 0) std::this_thread::sleep_for(1ms);
        interrupt_until({&one, &other}, [&] { return ended == 2; });
    }

    EXPECT_EQ(stopped, 1) << "the one that waited";
}

TEST(Answers, what_is_no_text_of_smt_lib_leaves_nobody_waiting) {
    Answers answers;

    on_threads(4, [&](int) {
        Context context;
        try {
            EXPECT_EQ(answers.ask({"wrong", "(assert"}, context), std::nullopt) << "somebody else asked";
        } catch (base::SystemError const&) {}
    });

    EXPECT_EQ(answers.find("wrong"), std::nullopt);
}

} // namespace
} // namespace espalier::smt
