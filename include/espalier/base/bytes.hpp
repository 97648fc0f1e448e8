#pragma once

#include "espalier/base/error.hpp"

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace espalier::base {

using Bytes = std::vector<std::byte>;

static_assert(std::endian::native == std::endian::little, "the byte layouts are little-endian");

template <class T>
concept Packable = std::is_arithmetic_v<T> || std::is_enum_v<T>;

/// Appends values to a byte buffer in an explicit little-endian layout without padding.
class ByteWriter {
public:
    explicit ByteWriter(Bytes& out) : out_(out) {}

    template <Packable T>
    void put(T value) {
        auto const at = out_.size();
        out_.resize(at + sizeof(T));
        std::memcpy(out_.data() + at, &value, sizeof(T));
    }
    /// Bytes without their length.
    void put_raw(std::span<std::byte const> bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
    /// A 32-bit length, then the bytes.
    void put_block(std::span<std::byte const> bytes) {
        put(static_cast<std::uint32_t>(bytes.size()));
        put_raw(bytes);
    }
    void put_text(std::string_view text) { put_block(std::as_bytes(std::span(text))); }
    template <Packable T>
    void put_list(std::span<T const> values) {
        put(static_cast<std::uint32_t>(values.size()));
        put_raw(std::as_bytes(values));
    }

private:
    Bytes& out_;
};

/// Reads what ByteWriter wrote. Throws SystemError when the buffer is too short: a message is never trusted.
class ByteReader {
public:
    explicit ByteReader(std::span<std::byte const> in) : in_(in) {}

    template <Packable T>
    [[nodiscard]] T get() {
        T value;
        std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
        return value;
    }
    [[nodiscard]] std::span<std::byte const> get_raw(std::size_t n) { return take(n); }
    [[nodiscard]] std::span<std::byte const> get_block() { return take(get<std::uint32_t>()); }
    [[nodiscard]] std::string get_text() {
        auto const block = get_block();
        return {reinterpret_cast<char const*>(block.data()), block.size()};
    }
    template <Packable T>
    [[nodiscard]] std::vector<T> get_list() {
        auto const n = get<std::uint32_t>();
        auto const raw = take(std::size_t{n} * sizeof(T));
        std::vector<T> values(n);
        if (n > 0) std::memcpy(values.data(), raw.data(), raw.size());
        return values;
    }
    [[nodiscard]] std::size_t left() const { return in_.size(); }

private:
    std::span<std::byte const> take(std::size_t n) {
        if (n > in_.size()) throw SystemError("packed data ends {} bytes too early", n - in_.size());
        auto const head = in_.first(n);
        in_ = in_.subspan(n);
        return head;
    }
    std::span<std::byte const> in_;
};

} // namespace espalier::base
