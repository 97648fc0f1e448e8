#pragma once

#include <array>
#include <cstdint>
#include <string_view>

/// What is known about a result, in closed sets of words that all problems share.
namespace espalier::search {

/// How a result was verified.
enum class Verification : std::uint8_t {
    counted, ///< exactly, by counting
    random,  ///< on random inputs, with a bound on the error
    proved,  ///< formally
    partial, ///< equal on a part of the outputs, and corrected elsewhere
};
inline constexpr std::array<std::string_view, 4> verification_names{"counted", "random", "proved", "partial"};

/// Whether its code was executed.
enum class Executed : std::uint8_t { no, within_tolerance, wrong };
inline constexpr std::array<std::string_view, 3> executed_names{"no", "within tolerance", "wrong"};

/// Where its cost comes from.
enum class CostSource : std::uint8_t { estimated, simulated, measured };
inline constexpr std::array<std::string_view, 3> cost_source_names{"estimated", "simulated", "measured"};

/// What is known about how far it is from the best there is.
enum class Optimality : std::uint8_t {
    none,    ///< nothing
    gap,     ///< a bound on it
    optimal, ///< nothing in the space that was searched is better
};
inline constexpr std::array<std::string_view, 3> optimality_names{"none", "gap", "optimal"};

[[nodiscard]] constexpr std::string_view name(Verification v) {
    return verification_names[static_cast<std::size_t>(v)];
}
[[nodiscard]] constexpr std::string_view name(Executed e) { return executed_names[static_cast<std::size_t>(e)]; }
[[nodiscard]] constexpr std::string_view name(CostSource s) { return cost_source_names[static_cast<std::size_t>(s)]; }
[[nodiscard]] constexpr std::string_view name(Optimality o) { return optimality_names[static_cast<std::size_t>(o)]; }

/// All four of one result.
struct Known {
    Verification verified = Verification::random;
    Executed executed = Executed::no;
    CostSource cost_source = CostSource::estimated;
    Optimality optimality = Optimality::none;

    bool operator==(Known const&) const = default;
};

} // namespace espalier::search
