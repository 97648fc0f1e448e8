#pragma once

#include "espalier/problems/placement/pairs.hpp"

#include <algorithm>

namespace espalier::problems::placement {

/// Chunks that each device of the first reduction group holds after so many steps, on the real sizes; the other groups
/// do the same.
class Holdings {
public:
    explicit Holdings(Pair const& pair)
        : sizes_(pair.sizes), count_(pair.groups.front().size()), held_(count_, std::vector<bool>(count_, true)) {
        if (!reduction::info(pair.request).starts_in_parts) return;
        for (std::size_t device = 0; device < count_; ++device)
            for (std::size_t chunk = 0; chunk < count_; ++chunk) held_[device][chunk] = device == chunk;
    }
    void apply(reduction::Step const& step) {
        for (auto const& group : reduction::groups(step.grouping, sizes_)) {
            std::vector<bool> all(count_, false);
            for (auto const device : group)
                for (std::size_t chunk = 0; chunk < count_; ++chunk)
                    if (held_[at(device)][chunk] &&
                        (step.collective != reduction::Collective::broadcast || device == group[0]))
                        all[chunk] = true;
            auto const total = static_cast<std::size_t>(std::ranges::count(all, true));
            for (std::size_t i = 0; i < group.size(); ++i) take(step.collective, group, i, all, total);
        }
    }
    [[nodiscard]] std::vector<int> chunks(std::size_t device) const {
        std::vector<int> list;
        for (std::size_t chunk = 0; chunk < count_; ++chunk)
            if (held_[device][chunk]) list.push_back(static_cast<int>(chunk));
        return list;
    }
    [[nodiscard]] std::size_t count() const { return count_; }

private:
    static std::size_t at(int device) { return static_cast<std::size_t>(device); }
    void take(reduction::Collective collective, std::vector<int> const& group, std::size_t i,
              std::vector<bool> const& all, std::size_t total) {
        std::size_t number = 0;
        for (std::size_t chunk = 0; chunk < count_; ++chunk) {
            bool keeps = all[chunk];
            if (keeps && collective == reduction::Collective::reduce_scatter)
                keeps = number * group.size() / total == i;
            if (collective == reduction::Collective::reduce && i > 0) keeps = false;
            if (all[chunk]) ++number;
            held_[at(group[i])][chunk] = keeps;
        }
    }

    std::vector<int> sizes_;
    std::size_t count_;
    std::vector<std::vector<bool>> held_; ///< device, chunk
};

} // namespace espalier::problems::placement
