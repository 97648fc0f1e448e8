#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace espalier::base {

/// How work reaches the ranks and their threads.
enum class Policy : std::uint8_t {
    fixed,       ///< dealt out once
    omp_dynamic, ///< dealt out once, dynamic inside a rank
    hybrid,      ///< budgeted subtrees that ranks share
};

/// All that is to be known about a policy, in one table.
struct PolicyInfo {
    Policy policy;
    std::string_view name; ///< as in the experiment file
    bool ranks_share;      ///< work moves between ranks while they search
    bool threads_share;    ///< ... and between the threads of a rank
};
inline constexpr std::array policies{
    PolicyInfo{Policy::fixed, "static", false, false},
    PolicyInfo{Policy::omp_dynamic, "omp-dynamic", false, true},
    PolicyInfo{Policy::hybrid, "hybrid", true, true},
};
[[nodiscard]] constexpr PolicyInfo const& info(Policy policy) { return policies[static_cast<std::size_t>(policy)]; }
static_assert(info(Policy::fixed).policy == Policy::fixed && info(Policy::omp_dynamic).policy == Policy::omp_dynamic &&
              info(Policy::hybrid).policy == Policy::hybrid && policies.size() == 3);
[[nodiscard]] constexpr std::string_view name(Policy policy) { return info(policy).name; }

} // namespace espalier::base
