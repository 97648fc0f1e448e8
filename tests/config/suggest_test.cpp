#include "espalier/config/suggest.hpp"

#include <gtest/gtest.h>

namespace espalier::config {
namespace {

std::vector<std::string> const words{"threads", "max_time", "T1", "T1L"};

TEST(Suggest, a_typing_error_finds_its_word) {
    EXPECT_EQ(did_you_mean("thraeds", words), "; did you mean 'threads'?") << "swapped";
    EXPECT_EQ(did_you_mean("thread", words), "; did you mean 'threads'?") << "missing";
    EXPECT_EQ(did_you_mean("max-time", words), "; did you mean 'max_time'?") << "replaced";
    EXPECT_EQ(did_you_mean("maxx_time", words), "; did you mean 'max_time'?") << "too many";
    EXPECT_EQ(did_you_mean("t1l", words), "; did you mean 'T1L'?") << "case";
}

TEST(Suggest, a_word_like_no_other_finds_none) {
    EXPECT_EQ(did_you_mean("granularity", words), "");
    EXPECT_EQ(did_you_mean("T9", words), "");
    EXPECT_EQ(did_you_mean("", words), "");
    EXPECT_EQ(did_you_mean("x", {}), "");
    EXPECT_EQ(did_you_mean(std::string(100'000, 'x'), words), "");
}

} // namespace
} // namespace espalier::config
