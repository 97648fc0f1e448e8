#pragma once

#include "espalier/problems/substitution/operators.hpp"

#include <functional>

/// The operators of TASO's space once more, after their definitions, by indices and with plain remainders.
namespace espalier::problems::substitution::plain {

using Index = std::array<int, max_rank>;
__extension__ using Wide = unsigned __int128;
constexpr std::uint64_t prime = (std::uint64_t{1} << 61) - 1;

inline std::uint64_t times(std::uint64_t a, std::uint64_t b) { return static_cast<std::uint64_t>(Wide{a} * b % prime); }
inline std::uint64_t plus(std::uint64_t a, std::uint64_t b) {
    return static_cast<std::uint64_t>((Wide{a} + b) % prime);
}

/// Element of a tensor; zero where it has none.
inline std::uint64_t at(Tensor const& tensor, Index const& index) {
    std::size_t place = 0;
    for (int i = 0; i < tensor.layout.rank; ++i) {
        auto const at = index[static_cast<std::size_t>(i)], size = tensor.layout.dim(i);
        if (at < 0 || at >= size) return 0;
        place = place * static_cast<std::size_t>(size) + static_cast<std::size_t>(at);
    }
    return tensor.values[place];
}

inline Values filled(Layout const& layout, std::function<std::uint64_t(Index const&)> const& element) {
    Values out;
    Index index{};
    auto const loop = [&](auto const& self, int depth) -> void {
        if (depth == layout.rank) return out.push_back(element(index));
        for (int i = 0; i < layout.dim(depth); ++i) {
            index[static_cast<std::size_t>(depth)] = i;
            self(self, depth + 1);
        }
    };
    loop(loop, 0);
    return out;
}

inline std::uint64_t convolved(Tensor const& x, Tensor const& w, Index const& to) {
    auto const depth = w.layout.dim(1), groups = x.layout.dim(1) / depth;
    auto const group = to[1] / (w.layout.dim(0) / groups);
    std::uint64_t sum = 0;
    for (int c = 0; c < depth; ++c)
        for (int i = 0; i < w.layout.dim(2); ++i)
            for (int j = 0; j < w.layout.dim(3); ++j)
                sum = plus(sum, times(at(w, {to[1], c, i, j}),
                                      at(x, {to[0], group * depth + c, to[2] + i - w.layout.dim(2) / 2,
                                             to[3] + j - w.layout.dim(3) / 2})));
    return sum;
}

inline std::uint64_t summed_window(Tensor const& x, Index const& to) {
    std::uint64_t sum = 0;
    for (int i = -1; i <= 1; ++i)
        for (int j = -1; j <= 1; ++j) sum = plus(sum, at(x, {to[0], to[1], to[2] + i, to[3] + j}));
    return sum;
}

} // namespace espalier::problems::substitution::plain
