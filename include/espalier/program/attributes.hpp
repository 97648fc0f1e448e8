#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace espalier::program {

/// Every attribute that any op has. A row of the op table names those it takes.
enum class AttributeName : std::uint8_t {
    axis,
    size,
    low,
    high,
    stride,
    padding,
    groups,
    permutation,
    by,
    over,
    eps,
    shape,
    from,
    to,
    dtype,
};
inline constexpr std::array<std::string_view, 15> attribute_names{"axis",    "size",   "low",         "high", "stride",
                                                                  "padding", "groups", "permutation", "by",   "over",
                                                                  "eps",     "shape",  "from",        "to",   "dtype"};
[[nodiscard]] constexpr std::string_view name(AttributeName attribute) {
    return attribute_names[static_cast<std::size_t>(attribute)];
}
[[nodiscard]] constexpr std::optional<AttributeName> find_attribute(std::string_view text) {
    for (std::size_t i = 0; i < attribute_names.size(); ++i)
        if (attribute_names[i] == text) return static_cast<AttributeName>(i);
    return std::nullopt;
}

/// Whether people write it in words: the dimensions of the program, or a dtype. A graph has numbers.
[[nodiscard]] constexpr bool is_in_words(AttributeName attribute) { return attribute >= AttributeName::shape; }

struct Attribute {
    AttributeName name{};
    std::vector<double> values; ///< one for a scalar

    auto operator<=>(Attribute const&) const = default;
};

/// The attributes of one op, sorted by name; what is left out has the default of the op's row.
class Attributes {
public:
    Attributes() = default;
    [[nodiscard]] static Attributes axis(std::int64_t axis) { return Attributes().with(AttributeName::axis, axis); }

    /// The same with one more (or another) scalar.
    [[nodiscard]] Attributes with(AttributeName name, std::int64_t value) const {
        return with(name, std::vector<double>{static_cast<double>(value)});
    }
    [[nodiscard]] Attributes with(AttributeName name, std::vector<double> values) const;
    [[nodiscard]] Attribute const* find(AttributeName name) const;
    [[nodiscard]] double get(AttributeName name, double otherwise) const;
    [[nodiscard]] std::int64_t whole(AttributeName name, std::int64_t otherwise) const {
        return static_cast<std::int64_t>(get(name, static_cast<double>(otherwise)));
    }
    [[nodiscard]] std::vector<Attribute> const& items() const { return items_; }

    auto operator<=>(Attributes const&) const = default;

private:
    std::vector<Attribute> items_;
};

} // namespace espalier::program
