#pragma once

#include "espalier/base/cluster_options.hpp"
#include "espalier/cluster/leases.hpp"

#include <vector>

namespace espalier::cluster {

/// Who reports to whom: one master for everybody, or one for each group of consecutive ranks and a top one above them.
/// Rank 0 has the top master; the first rank of a group has the group's. No group has more than `group` ranks, and
/// their sizes differ by at most one: the top master treats them alike.
struct Layout {
    int ranks = 1;
    int group = base::ClusterOptions{}.group;

    [[nodiscard]] bool is_flat() const { return ranks <= group; }
    [[nodiscard]] base::Rank master_of(base::Rank rank) const {
        auto const at = (std::int64_t{rank.value} + 1) * group_count() - 1;
        return first_of(static_cast<int>(at / ranks));
    }
    [[nodiscard]] bool is_leader(base::Rank rank) const { return master_of(rank) == rank; }
    /// Members of the master that the rank leads.
    [[nodiscard]] std::vector<MemberInfo> members(base::Rank leader) const {
        std::vector<MemberInfo> members;
        for (int r = leader.value; r < ranks && master_of(base::Rank{r}) == leader; ++r)
            members.push_back({base::Rank{r}, 1});
        return members;
    }
    /// Members of the top master when there are groups.
    [[nodiscard]] std::vector<MemberInfo> groups() const {
        std::vector<MemberInfo> groups;
        for (int g = 0; g < group_count(); ++g)
            groups.push_back({first_of(g), first_of(g + 1).value - first_of(g).value});
        return groups;
    }

private:
    [[nodiscard]] int group_count() const { return (ranks + group - 1) / group; }
    [[nodiscard]] base::Rank first_of(int number) const {
        return base::Rank{static_cast<std::int32_t>(std::int64_t{ranks} * number / group_count())};
    }
};

} // namespace espalier::cluster
