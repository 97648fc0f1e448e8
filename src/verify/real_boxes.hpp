#pragma once

#include "real_evaluate.hpp"

#include "espalier/program/op.hpp"

#include <numeric>
#include <utility>
#include <vector>

/// Where the elements of one box are in another.
namespace espalier::verify::real {

[[nodiscard]] inline std::vector<std::int64_t> count_up(std::int64_t count) {
    std::vector<std::int64_t> out(static_cast<std::size_t>(count));
    std::iota(out.begin(), out.end(), 0);
    return out;
}

/// Calls each(row-major number in `box`) with the number in `other` that broadcasts to it; both have one rank or the
/// other a smaller one, and dimensions of size 1 in the other stand for all.
[[nodiscard]] inline std::vector<std::size_t> broadcast_places(Box const& box, Box const& other) {
    std::vector<std::size_t> out{0};
    auto const skip = box.size() - other.size();
    for (std::size_t d = 0; d < box.size(); ++d) {
        std::vector<std::size_t> next;
        next.reserve(out.size() * box[d].size());
        auto const count = d < skip ? 1 : other[d - skip].size();
        for (auto const place : out)
            for (std::size_t i = 0; i < box[d].size(); ++i) next.push_back(place * count + (count == 1 ? 0 : i));
        out = std::move(next);
    }
    return out;
}

/// A box as (outer, along, inner) for one of its dimensions.
struct Strided {
    std::size_t outer = 1, along = 1, inner = 1;
    Strided(Box const& box, std::size_t dim) : along(box[dim].size()) {
        for (std::size_t d = 0; d < dim; ++d) outer *= box[d].size();
        for (std::size_t d = dim + 1; d < box.size(); ++d) inner *= box[d].size();
    }
    [[nodiscard]] std::size_t at(std::size_t o, std::size_t a, std::size_t i) const {
        return (o * along + a) * inner + i;
    }
};

/// For every element of `box`, in order, where it is in `from`, whose dimension order[i] is dimension i of the box.
[[nodiscard]] inline std::vector<std::size_t> rearranged_places(Box const& box, Box const& from,
                                                                program::Permutation const& order) {
    std::vector<std::size_t> strides(box.size(), 1);
    for (std::size_t d = box.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * from[d + 1].size();
    std::vector<std::size_t> places{0};
    for (std::size_t i = 0; i < box.size(); ++i) {
        std::vector<std::size_t> next;
        for (auto const place : places)
            for (std::size_t n = 0; n < box[i].size(); ++n)
                next.push_back(place + n * strides[static_cast<std::size_t>(order[i])]);
        places = std::move(next);
    }
    return places;
}

} // namespace espalier::verify::real
