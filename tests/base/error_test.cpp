#include "espalier/base/error.hpp"
#include "espalier/base/ids.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace espalier::base {
namespace {

TEST(Error, messages_are_formatted_and_braces_in_plain_ones_stay) {
    EXPECT_STREQ(InputError("{}: {} is out of range", "threads", 0).what(), "threads: 0 is out of range");
    EXPECT_STREQ(InputError("{plain}").what(), "{plain}");
    EXPECT_STREQ(SystemError("disk {} is full", 3).what(), "disk 3 is full");
}

TEST(Error, bad_input_and_a_bad_environment_are_told_apart) {
    EXPECT_THROW(throw InputError("x"), InputError);
    try {
        throw SystemError("x");
    } catch (InputError const&) {
        FAIL() << "a SystemError is not an InputError";
    } catch (SystemError const&) {}
}

TEST(Error, exit_codes_are_those_of_the_manual) {
    EXPECT_EQ(static_cast<int>(ExitCode::done), 0);
    EXPECT_EQ(static_cast<int>(ExitCode::usage), 2);
    EXPECT_EQ(static_cast<int>(ExitCode::invalid_input), 3);
    EXPECT_EQ(static_cast<int>(ExitCode::verification_failed), 4);
    EXPECT_EQ(static_cast<int>(ExitCode::nothing_found), 5);
    EXPECT_EQ(static_cast<int>(ExitCode::resumable), 85);
}

TEST(FirstError, without_an_error_nothing_happens) {
    FirstError error;
    error.guard([] {});

    EXPECT_FALSE(error.has_error());
    EXPECT_NO_THROW(error.rethrow_if_any());
}

TEST(FirstError, the_first_error_is_the_one_that_is_rethrown) {
    FirstError error;
    error.guard([] { throw InputError("first"); });
    error.guard([] { throw SystemError("second"); });

    EXPECT_TRUE(error.has_error());
    EXPECT_THROW(error.rethrow_if_any(), InputError);
}

TEST(FirstError, threads_may_fail_at_the_same_time) {
    FirstError error;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([&] { error.guard([] { throw InputError("one of four"); }); });
    for (auto& thread : threads) thread.join();

    EXPECT_THROW(error.rethrow_if_any(), InputError);
}

TEST(Ids, ids_compare_by_value) {
    EXPECT_EQ(Rank{3}, Rank{3});
    EXPECT_LT(Rank{2}, Rank{3});
    EXPECT_EQ(Rank{}.value, 0);
    EXPECT_EQ(std::hash<Rank>{}(Rank{3}), std::hash<std::int32_t>{}(3));
}

} // namespace
} // namespace espalier::base
