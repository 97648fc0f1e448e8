#include "espalier/base/bytes.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>

namespace espalier::base {
namespace {

enum class Color : std::uint8_t { red = 1, blue = 2 };

TEST(Bytes, the_layout_is_little_endian_without_padding) {
    Bytes out;
    ByteWriter writer(out);

    writer.put(std::uint8_t{0x01});
    writer.put(std::uint32_t{0x05040302});
    writer.put(Color::blue);

    EXPECT_EQ(out, (Bytes{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}, std::byte{5}, std::byte{2}}));
}

TEST(Bytes, a_text_has_its_length_in_front) {
    Bytes out;
    ByteWriter(out).put_text("ab");

    EXPECT_EQ(out, (Bytes{std::byte{2}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{'a'}, std::byte{'b'}}));
}

RC_GTEST_PROP(Bytes, what_was_written_is_read_back_in_order,
              (double number, std::string const& text, std::vector<std::int64_t> const& list)) {
    Bytes out;
    ByteWriter writer(out);
    writer.put(number);
    writer.put_text(text);
    writer.put_list(std::span<std::int64_t const>(list));
    writer.put_raw(std::as_bytes(std::span(text)));

    ByteReader reader(out);
    RC_ASSERT(reader.get<double>() == number);
    RC_ASSERT(reader.get_text() == text);
    RC_ASSERT(reader.get_list<std::int64_t>() == list);
    RC_ASSERT(reader.get_raw(text.size()).size() == text.size());
    RC_ASSERT(reader.left() == 0u);
}

TEST(Bytes, a_block_is_read_back_as_it_was) {
    Bytes const block{std::byte{9}, std::byte{8}};
    Bytes out;
    ByteWriter(out).put_block(block);

    auto const read = ByteReader(out).get_block();

    EXPECT_TRUE(std::ranges::equal(read, block));
}

TEST(Bytes, data_that_ends_too_early_is_refused) {
    Bytes const three(3);

    EXPECT_THROW((void)ByteReader(three).get<std::uint32_t>(), SystemError);
    EXPECT_THROW((void)ByteReader(three).get_raw(4), SystemError);
    EXPECT_THROW((void)ByteReader(three).get_text(), SystemError);
}

TEST(Bytes, a_length_that_lies_is_refused_before_memory_is_taken) {
    Bytes out;
    ByteWriter(out).put(std::uint32_t{0xFFFFFFFF});

    EXPECT_THROW((void)ByteReader(out).get_block(), SystemError);
    EXPECT_THROW((void)ByteReader(out).get_list<std::uint64_t>(), SystemError);
}

} // namespace
} // namespace espalier::base
