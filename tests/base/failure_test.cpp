#include "espalier/base/failure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <new>

namespace espalier::base {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Failure of_path(std::errc code) {
    return describe(std::filesystem::filesystem_error("status", "runs/x", std::make_error_code(code)));
}

TEST(Failure, our_own_errors_say_what_they_say) {
    EXPECT_EQ(describe(InputError("a.yaml: wrong")).text, "a.yaml: wrong");
    EXPECT_EQ(describe(InputError("a.yaml: wrong")).code, ExitCode::invalid_input);
    EXPECT_EQ(describe(SystemError("disk full")).code, ExitCode::failure);
}

TEST(Failure, a_refusal_of_the_file_system_names_the_path_and_the_remedy) {
    auto const failure = of_path(std::errc::filename_too_long);

    EXPECT_EQ(failure.text, "runs/x: cannot be used (File name too long): check the path and its permissions");
    EXPECT_EQ(failure.code, ExitCode::invalid_input);
    EXPECT_EQ(of_path(std::errc::no_space_on_device).code, ExitCode::failure);
}

TEST(Failure, the_words_of_libraries_are_not_shown) {
    EXPECT_THAT(describe(std::bad_alloc()).text, HasSubstr("not enough memory"));
    EXPECT_THAT(describe(std::bad_alloc()).text, Not(HasSubstr("std::")));
    EXPECT_THAT(describe(std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again))).text,
                HasSubstr("ulimit"));
}

TEST(Failure, what_nobody_thought_of_is_called_a_bug) {
    EXPECT_THAT(describe(std::logic_error("map::at")).text, HasSubstr("a bug in espalier"));
}

} // namespace
} // namespace espalier::base
