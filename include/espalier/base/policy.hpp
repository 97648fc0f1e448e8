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
inline constexpr std::array<std::string_view, 3> policy_names{"static", "omp-dynamic", "hybrid"};
[[nodiscard]] constexpr std::string_view name(Policy policy) { return policy_names[static_cast<std::size_t>(policy)]; }

} // namespace espalier::base
