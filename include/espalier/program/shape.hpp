#pragma once

#include "espalier/base/contract.hpp"
#include "espalier/program/word.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace espalier::program {

inline constexpr int max_rank = 6;

/// The sizes of a tensor's dimensions: numbers (Shape) or words of symbols (SymbolicShape). A value without heap.
template <class D>
class Dims {
public:
    Dims() = default;
    Dims(std::initializer_list<D> sizes) {
        for (auto const& size : sizes) push(size);
    }
    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] D const& operator[](int i) const { return sizes_[static_cast<std::size_t>(i)]; }
    [[nodiscard]] D& operator[](int i) { return sizes_[static_cast<std::size_t>(i)]; }
    void push(D const& size) {
        ESP_EXPECT(rank_ < max_rank);
        sizes_[static_cast<std::size_t>(rank_++)] = size;
    }
    [[nodiscard]] D const* begin() const { return sizes_.data(); }
    [[nodiscard]] D const* end() const { return sizes_.data() + rank_; }
    [[nodiscard]] D const& back() const { return sizes_[static_cast<std::size_t>(rank_ - 1)]; }

    friend bool operator==(Dims const& a, Dims const& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

private:
    std::array<D, max_rank> sizes_{};
    int rank_ = 0;
};
using Shape = Dims<std::int64_t>;
using SymbolicShape = Dims<Word>;

[[nodiscard]] std::int64_t element_count(Shape const& shape);
/// `[2, 4096]`.
[[nodiscard]] std::string to_text(Shape const& shape);

/// What both kinds of sizes can do, so that every shape rule is written once.
[[nodiscard]] constexpr bool is_one(std::int64_t size) { return size == 1; }
[[nodiscard]] constexpr bool is_one(Word const& size) { return size.is_unit(); }
[[nodiscard]] constexpr bool divides(std::int64_t part, std::int64_t whole) { return part > 0 && whole % part == 0; }
/// Symbolically everything divides; numbers are asked when sizes are filled in.
[[nodiscard]] constexpr bool divides(Word const&, Word const&) { return true; }

} // namespace espalier::program
