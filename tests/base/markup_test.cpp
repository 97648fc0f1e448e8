#include "espalier/base/markup.hpp"

#include <gtest/gtest.h>

namespace espalier::base {
namespace {

TEST(Markup, nothing_is_read_as_a_tag_or_ends_an_attribute) {
    EXPECT_EQ(escaped("<a b=\"c\" d='e'>&amp;"), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;amp;");
    EXPECT_EQ(escaped("\u00fcber 2 x 3"), "\u00fcber 2 x 3");
}

TEST(Markup, control_characters_are_replaced_and_white_space_is_kept) {
    EXPECT_EQ(escaped(std::string_view("a\0b\x1b", 4)), "a\uFFFDb\uFFFD");
    EXPECT_EQ(escaped("a\tb\nc\r\n"), "a\tb\nc\r\n");
}

} // namespace
} // namespace espalier::base
