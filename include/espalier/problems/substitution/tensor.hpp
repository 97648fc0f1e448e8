#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace espalier::problems::substitution {

inline constexpr int max_rank = 4;
inline constexpr int marked_axes = 2; ///< concat and split know axes 0 and 1
inline constexpr std::size_t max_marks = 31;

/// Where a tensor was put together along an axis: split cuts at the last one.
struct Marks {
    std::uint8_t count = 0;
    std::array<std::uint16_t, max_marks> at{};

    void push(int position) { at[count++] = static_cast<std::uint16_t>(position); }
    [[nodiscard]] int last() const { return at[count - 1u]; }
    friend bool operator==(Marks const& a, Marks const& b) {
        if (a.count != b.count) return false;
        for (std::size_t i = 0; i < a.count; ++i)
            if (a.at[i] != b.at[i]) return false;
        return true;
    }
};

/// All of a tensor but its values.
struct Layout {
    int rank = 0;
    std::array<std::int32_t, max_rank> dims{};
    std::array<std::int32_t, max_rank> strides{};
    std::array<Marks, marked_axes> marks{};

    bool operator==(Layout const&) const = default;
    [[nodiscard]] int size() const {
        int out = 1;
        for (int i = 0; i < rank; ++i) out *= dims[static_cast<std::size_t>(i)];
        return out;
    }
    [[nodiscard]] int dim(int i) const { return dims[static_cast<std::size_t>(i)]; }
};
/// Rows one after the other.
[[nodiscard]] Layout contiguous(int rank, std::array<std::int32_t, max_rank> const& dims);

/// Modulo 2^61 - 1, in the order of indices, whatever the strides are.
using Values = std::vector<std::uint64_t>;

struct Tensor {
    Layout layout;
    Values values;        ///< empty: not kept
    int input_class = -1; ///< of an input of a graph: which
};

} // namespace espalier::problems::substitution
