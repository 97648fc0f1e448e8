#include "espalier/smt/solver.hpp"

#include "espalier/base/error.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

namespace espalier::smt {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

constexpr auto sat_text = "(declare-const x Int)(assert (> x 1))";
constexpr auto unsat_text = "(declare-const x Int)(assert (> x 1))(assert (< x 1))";

/// Commutative, associative and distributive, and something that does not follow: Z3 never ends by itself.
constexpr auto endless_text = R"(
    (declare-sort T)(declare-fun f (T T) T)(declare-fun g (T T) T)
    (declare-const a T)(declare-const b T)(declare-const c T)
    (assert (forall ((x T)(y T)) (= (f x y) (f y x))))
    (assert (forall ((x T)(y T)(z T)) (= (f x (f y z)) (f (f x y) z))))
    (assert (forall ((x T)(y T)(z T)) (= (g x (f y z)) (f (g x y) (g x z)))))
    (assert (not (= (g a (f b c)) (f (g a b) (g b c))))))";

std::string pigeon(int i, int hole) { return fmt::format("p{}_{}", i, hole); }

/// n + 1 pigeons in n holes, no two in one: unsatisfiable, and harder the larger n.
std::string pigeons(int n) {
    std::string text;
    for (int i = 0; i <= n; ++i) {
        std::string somewhere;
        for (int hole = 0; hole < n; ++hole) {
            text += fmt::format("(declare-const {} Bool)", pigeon(i, hole));
            somewhere += fmt::format(" {}", pigeon(i, hole));
            for (int k = 0; k < i; ++k)
                text += fmt::format("(assert (not (and {} {})))", pigeon(i, hole), pigeon(k, hole));
        }
        text += fmt::format("(assert (or{}))", somewhere);
    }
    return text;
}

TEST(Solver, tells_sat_from_unsat) {
    Context context;

    EXPECT_EQ(context.check(sat_text), Answer::sat);
    EXPECT_EQ(context.check(unsat_text), Answer::unsat);
    EXPECT_EQ(context.check(pigeons(4)), Answer::unsat);
    EXPECT_EQ(context.check(""), Answer::sat) << "nothing is asserted";
}

TEST(Solver, a_query_knows_nothing_of_the_one_before) {
    Context context;

    EXPECT_EQ(context.check("(declare-const x Int)(assert (= x 1))"), Answer::sat);
    EXPECT_EQ(context.check("(declare-const x Bool)(assert (not x))"), Answer::sat);
}

TEST(Solver, a_small_rlimit_gives_unknown_and_leaves_the_context_usable) {
    Context context({.rlimit = 5'000});

    EXPECT_EQ(context.check(pigeons(8)), Answer::unknown);
    EXPECT_EQ(context.check(unsat_text), Answer::unsat);
}

/// The smallest rlimit, in steps of 1000, with which a context answers.
std::uint32_t enough(std::string const& query, std::string const& before) {
    std::uint32_t rlimit = 1'000;
    for (; rlimit < 100'000; rlimit += 1'000) {
        Context context({.rlimit = rlimit});
        if (!before.empty()) (void)context.check(before);
        if (context.check(query) != Answer::unknown) break;
    }
    return rlimit;
}

TEST(Solver, the_rlimit_decides_the_same_whatever_came_before) {
    auto const query = pigeons(5);

    auto const fresh = enough(query, "");

    EXPECT_GT(fresh, 1'000u);
    EXPECT_LT(fresh, 100'000u);
    EXPECT_EQ(enough(query, ""), fresh);
    EXPECT_EQ(enough(query, endless_text), fresh);
    EXPECT_EQ(enough(query, unsat_text), fresh);
}

TEST(Solver, the_net_ends_a_query_that_has_no_rlimit) {
    Context context({.rlimit = 0, .timeout_net = 50ms});

    EXPECT_EQ(context.check(endless_text), Answer::unknown);
    EXPECT_EQ(context.check(sat_text), Answer::sat);
}

TEST(Solver, an_interrupt_ends_the_query_and_leaves_the_context_usable) {
    for (auto const delay : {0ms, 1ms, 30ms}) {
        Context context({.rlimit = 0, .timeout_net = 100s});
        std::atomic<bool> has_ended = false;
        std::thread other([&] {
            while (!has_ended) {
                std::this_thread::sleep_for(delay);
                context.interrupt();
            }
        });

        auto const answer = context.check(endless_text);
        has_ended = true;
        other.join();

        EXPECT_EQ(answer, Answer::unknown);
        EXPECT_EQ(context.check(unsat_text), Answer::unsat);
    }
}

TEST(Solver, an_interrupt_without_a_query_does_nothing) {
    Context context;

    context.interrupt();

    EXPECT_EQ(context.check(sat_text), Answer::sat);
}

TEST(Solver, contexts_of_several_threads_do_not_meet) {
    std::atomic<int> wrong = 0;
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&wrong, t] {
            Context context;
            for (int i = 0; i < 8; ++i)
                wrong += (i + t) % 2 == 0 ? context.check(sat_text) != Answer::sat
                                          : context.check(pigeons(4)) != Answer::unsat;
        });
    threads.clear();

    EXPECT_EQ(wrong, 0);
}

TEST(Solver, a_text_that_is_no_smtlib_is_an_error_and_leaves_the_context_usable) {
    Context context;

    for (auto const* text : {"(assert (= y 1))", "(assert", "hello"})
        EXPECT_THAT([&] { (void)context.check(text); }, ThrowsMessage<base::SystemError>(HasSubstr("line 1 column")));
    EXPECT_EQ(context.check(sat_text), Answer::sat);
}

TEST(Solver, counts_queries_and_cpu_time) {
    Context context({.rlimit = 5'000});

    (void)context.check(sat_text);
    (void)context.check(pigeons(8));

    EXPECT_EQ(context.statistics().queries, 2u);
    EXPECT_EQ(context.statistics().unknown, 1u);
    EXPECT_GT(context.statistics().cpu_ns, 0);
}

extern "C" void ignore_signal(int) {}

TEST(Solver, leaves_the_signals_to_the_program) {
    auto const before = std::signal(SIGINT, ignore_signal);
    Context context({.rlimit = 0, .timeout_net = 100ms});
    std::jthread other([] {
        std::this_thread::sleep_for(30ms);
        std::raise(SIGINT);
    });

    auto const start = std::chrono::steady_clock::now();
    (void)context.check(endless_text);
    auto const took = std::chrono::steady_clock::now() - start;
    other.join();

    EXPECT_GE(took, 90ms) << "the signal ended the query";
    EXPECT_EQ(std::signal(SIGINT, before), ignore_signal);
}

TEST(Solver, says_which_z3_it_is) { EXPECT_THAT(version(), StartsWith("4.")); }

} // namespace
} // namespace espalier::smt
