#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace espalier::base {

/// An integer that does not mix with other integers. `Tag` only tells the types apart.
template <class Tag, class Rep>
struct StrongId {
    Rep value{};

    constexpr StrongId() = default;
    constexpr explicit StrongId(Rep v) : value(v) {}
    constexpr auto operator<=>(StrongId const&) const = default;
};

using Rank = StrongId<struct RankTag, std::int32_t>;        ///< of a process in the communicator, from 0
using Seed = StrongId<struct SeedTag, std::uint64_t>;       ///< of a random generator
using ReasonId = StrongId<struct ReasonTag, std::uint16_t>; ///< index in a problem's list of prune reasons

} // namespace espalier::base

template <class Tag, class Rep>
struct std::hash<espalier::base::StrongId<Tag, Rep>> {
    std::size_t operator()(espalier::base::StrongId<Tag, Rep> id) const { return std::hash<Rep>{}(id.value); }
};
