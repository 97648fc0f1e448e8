#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

/// Arrays of any numbers, for brute_force.hpp.
namespace espalier::brute_force {

using Ints = std::vector<std::int64_t>;

/// Row-major.
template <class V>
struct Array {
    Ints shape;
    std::vector<V> data;

    explicit Array(Ints of = {}, V fill = {}) : shape(std::move(of)) {
        std::size_t count = 1;
        for (auto const n : shape) count *= static_cast<std::size_t>(n);
        data.assign(count, fill);
    }
    /// Right-aligned; dimensions of size 1 repeat.
    [[nodiscard]] std::size_t at(Ints const& index) const {
        std::int64_t flat = 0;
        auto const skip = index.size() - shape.size();
        for (std::size_t d = 0; d < shape.size(); ++d) flat = flat * shape[d] + (shape[d] == 1 ? 0 : index[skip + d]);
        return static_cast<std::size_t>(flat);
    }
    V& operator[](Ints const& index) { return data[at(index)]; }
    V const& operator[](Ints const& index) const { return data[at(index)]; }
};

template <class Each>
void for_each(Ints const& shape, Each&& each) {
    Ints index(shape.size(), 0);
    if (std::ranges::count(shape, 0) > 0) return;
    for (;;) {
        each(std::as_const(index));
        auto d = shape.size();
        while (d > 0 && ++index[d - 1] == shape[d - 1]) index[--d] = 0;
        if (d == 0) return;
    }
}

/// Thrown by an arithmetic that has no such op.
struct Unsupported : std::runtime_error {
    Unsupported() : std::runtime_error("not an op of this arithmetic") {}
};

} // namespace espalier::brute_force
