#include "espalier/base/text.hpp"

#include <gtest/gtest.h>

namespace espalier::base {
namespace {

TEST(Text, utf8_is_what_unicode_calls_well_formed) {
    for (auto const* good :
         {"", "a", "\xC3\xBC", "\xE2\x82\xAC", "\xED\x9F\xBF", "\xEE\x80\x80", "\xF0\x9F\x8C\xB3", "\xF4\x8F\xBF\xBF"})
        EXPECT_TRUE(is_utf8(good)) << good;
    // a lone continuation, overlong forms, surrogates, above U+10FFFF, cut off
    for (auto const* bad : {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
                            "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xC3", "\xE2\x82", "\xC3("})
        EXPECT_FALSE(is_utf8(bad)) << bad;
}

TEST(Text, what_a_terminal_would_obey_is_shown_instead) {
    EXPECT_EQ(printable("a\x1b[31mb"), "a\\x1b[31mb");
    EXPECT_EQ(printable("\r\a\x7f"), "\\x0d\\x07\\x7f");
    EXPECT_EQ(printable("\xC2\x9B"), "\\u009b") << "CSI in one character";
    EXPECT_EQ(printable("\xE2\x80\xAE"), "\\u202e") << "writes from right to left";
    EXPECT_EQ(printable("\xE2\x80\xA8"), "\\u2028");
    EXPECT_EQ(printable("\xFF\xC3"), "\\xff\\xc3");
    EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
}

TEST(Text, everything_else_stays) {
    for (std::string const text : {"", "a\n\tb\n", "f\xC3\xBCr 2 \xE2\x82\xAC \xF0\x9F\x8C\xB3", "\\x1b"})
        EXPECT_EQ(printable(text), text);
}

} // namespace
} // namespace espalier::base
