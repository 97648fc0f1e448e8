#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace espalier::analysis::exports {

/// One message in the wire format of protobuf, field after field.
class Protobuf {
public:
    void varint(int field, std::uint64_t value) {
        key(field, 0);
        raw_varint(value);
    }
    void fixed64(int field, std::uint64_t value) {
        key(field, 1);
        for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(value >> shift & 0xff);
    }
    void text(int field, std::string_view value) {
        key(field, 2);
        raw_varint(value.size());
        bytes_ += value;
    }
    void message(int field, Protobuf const& value) { text(field, value.bytes_); }

    void clear() { bytes_.clear(); }
    [[nodiscard]] std::string const& bytes() const { return bytes_; }

private:
    void key(int field, unsigned wire_type) { raw_varint(static_cast<std::uint64_t>(field) << 3 | wire_type); }
    void raw_varint(std::uint64_t value) {
        for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
        bytes_ += static_cast<char>(value);
    }

    std::string bytes_;
};

} // namespace espalier::analysis::exports
