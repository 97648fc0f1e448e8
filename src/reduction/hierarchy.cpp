#include "espalier/reduction/hierarchy.hpp"

#include "espalier/base/contract.hpp"

#include <algorithm>
#include <map>

namespace espalier::reduction {
namespace {

/// Row by row, an ordered factorisation of each axis, pruned by what is left of the levels.
class Enumeration {
public:
    Enumeration(std::vector<int> const& axes, Hierarchy const& hierarchy) : axes_(axes) {
        for (auto const& level : hierarchy) left_.push_back(level.size);
        current_.assign(axes.size(), std::vector<int>(hierarchy.size(), 1));
    }
    std::vector<Matrix> run() {
        fill(0, 0, axes_.empty() ? 1 : axes_[0]);
        return std::move(found_);
    }

private:
    void fill(std::size_t row, std::size_t column, int rest) {
        if (row == axes_.size()) {
            if (std::ranges::all_of(left_, [](int left) { return left == 1; })) found_.push_back(current_);
            return;
        }
        if (column == left_.size()) {
            if (rest == 1) fill(row + 1, 0, row + 1 < axes_.size() ? axes_[row + 1] : 1);
            return;
        }
        for (int factor = 1; factor <= std::min(rest, left_[column]); ++factor) {
            if (rest % factor != 0 || left_[column] % factor != 0) continue;
            current_[row][column] = factor;
            left_[column] /= factor;
            fill(row, column + 1, rest / factor);
            left_[column] *= factor;
        }
        current_[row][column] = 1;
    }

    std::vector<int> const& axes_;
    std::vector<int> left_;
    Matrix current_;
    std::vector<Matrix> found_;
};

/// digits[axis][level] of a device.
std::vector<std::vector<int>> digits(Matrix const& placement, Hierarchy const& hierarchy, int device) {
    auto const at = position(hierarchy, device);
    std::vector<std::vector<int>> digits(placement.size(), std::vector<int>(hierarchy.size(), 0));
    for (std::size_t level = 0; level < hierarchy.size(); ++level) {
        auto rest = at[level];
        for (auto axis = placement.size(); axis-- > 0;) {
            digits[axis][level] = rest % placement[axis][level];
            rest /= placement[axis][level];
        }
        ESP_ASSERT(rest == 0);
    }
    return digits;
}

} // namespace

int devices(Hierarchy const& hierarchy) {
    int product = 1;
    for (auto const& level : hierarchy) product *= level.size;
    return product;
}

std::vector<int> position(Hierarchy const& hierarchy, int device) {
    std::vector<int> at(hierarchy.size());
    for (auto level = hierarchy.size(); level-- > 0;) {
        at[level] = device % hierarchy[level].size;
        device /= hierarchy[level].size;
    }
    return at;
}

std::vector<Matrix> placements(std::vector<int> const& axes, Hierarchy const& hierarchy) {
    return Enumeration(axes, hierarchy).run();
}

std::vector<int> coordinates(Matrix const& placement, Hierarchy const& hierarchy, int device) {
    auto const all = digits(placement, hierarchy, device);
    std::vector<int> out(placement.size(), 0);
    for (std::size_t axis = 0; axis < placement.size(); ++axis)
        for (std::size_t level = 0; level < hierarchy.size(); ++level)
            out[axis] = out[axis] * placement[axis][level] + all[axis][level];
    return out;
}

std::vector<std::vector<int>> reduction_groups(Matrix const& placement, Hierarchy const& hierarchy,
                                               std::vector<int> const& axes) {
    std::map<std::vector<int>, std::map<std::vector<int>, int>> groups; // other digits -> reduced digits -> device
    for (int device = 0; device < devices(hierarchy); ++device) {
        auto const all = digits(placement, hierarchy, device);
        std::vector<int> others, reduced;
        for (std::size_t level = 0; level < hierarchy.size(); ++level)
            for (std::size_t axis = 0; axis < placement.size(); ++axis)
                (std::ranges::count(axes, static_cast<int>(axis)) > 0 ? reduced : others).push_back(all[axis][level]);
        groups[others][reduced] = device;
    }
    std::vector<std::vector<int>> list;
    for (auto const& [others, members] : groups) {
        list.emplace_back();
        for (auto const& [reduced, device] : members) list.back().push_back(device);
    }
    return list;
}

std::vector<Factor> factors(Matrix const& placement, std::vector<int> const& axes) {
    std::vector<Factor> list;
    for (std::size_t level = 0; !placement.empty() && level < placement.front().size(); ++level) {
        int product = 1;
        for (auto const axis : axes) product *= placement[static_cast<std::size_t>(axis)][level];
        if (product > 1) list.push_back({static_cast<int>(level), product});
    }
    return list;
}

} // namespace espalier::reduction
