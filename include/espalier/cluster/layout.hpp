#pragma once

#include "espalier/cluster/hub.hpp"

#include <vector>

namespace espalier::cluster {

/// Who reports to whom: one hub for everybody, or one for each group of consecutive ranks and a top one above them.
/// Rank 0 has the top hub; the first rank of a group has the group's.
struct Layout {
    int ranks = 1;
    int group = 200;

    [[nodiscard]] bool is_flat() const { return ranks <= group; }
    [[nodiscard]] base::Rank hub_of(base::Rank rank) const {
        return is_flat() ? base::Rank{0} : base::Rank{rank.value / group * group};
    }
    [[nodiscard]] bool is_leader(base::Rank rank) const { return hub_of(rank) == rank; }
    /// Members of the hub that the rank leads.
    [[nodiscard]] std::vector<MemberInfo> members(base::Rank leader) const {
        std::vector<MemberInfo> members;
        for (int r = leader.value; r < ranks && hub_of(base::Rank{r}) == leader; ++r)
            members.push_back({base::Rank{r}, 1});
        return members;
    }
    /// Members of the top hub when there are groups.
    [[nodiscard]] std::vector<MemberInfo> groups() const {
        std::vector<MemberInfo> groups;
        for (int r = 0; r < ranks; r += group) groups.push_back({base::Rank{r}, std::min(group, ranks - r)});
        return groups;
    }
};

} // namespace espalier::cluster
