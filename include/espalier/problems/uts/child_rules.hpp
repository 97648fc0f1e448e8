#pragma once

#include "espalier/problems/uts/uts_config.hpp"

#include <array>
#include <cstdint>
#include <vector>

/// How many children a node has, from its depth and its draw (31 bits of its state).
namespace espalier::problems::uts {

inline constexpr std::int32_t max_children = 100; ///< of every node but a binomial root
inline constexpr std::uint32_t draws = 1u << 31;  ///< a draw is below

/// The definition of UTS 2.1, in floating-point. Slow: one or two logarithms per call.
[[nodiscard]] std::int32_t children_by_formula(TreeParameters const& tree, std::int32_t depth, std::uint32_t draw);

/// A number of children that never falls as the draw grows, as thresholds: the same values as the formula at one
/// depth, without a logarithm.
class ThresholdTable {
public:
    /// Finds every threshold by bisection with the formula itself.
    ThresholdTable(TreeParameters const& tree, std::int32_t depth);

    [[nodiscard]] std::int32_t children(std::uint32_t draw) const {
        std::uint32_t n = at_bucket_[draw >> bucket_bits];
        n += draw >= first_draw_[n + 1]; // a bucket rarely holds more than one threshold
        while (draw >= first_draw_[n + 1]) ++n;
        return static_cast<std::int32_t>(n);
    }
    /// The smallest draw with at least n children, 0 < n <= max_children; `draws` if there is none.
    [[nodiscard]] std::uint32_t threshold(std::int32_t n) const { return first_draw_[static_cast<std::size_t>(n)]; }

private:
    static constexpr int bucket_bits = 23;

    std::array<std::uint32_t, max_children + 3> first_draw_;     ///< by number of children; then `draws` as a stop
    std::array<std::uint8_t, (draws >> bucket_bits)> at_bucket_; ///< number of children of a bucket's first draw
};

/// `many` children if the draw is below a limit, else none.
struct BelowRule {
    std::uint32_t limit = 0;
    std::int32_t many = 0;
};

/// The rule of one depth. Refers to the ChildRules that made it.
struct ChildRule {
    ThresholdTable const* table = nullptr;   ///< geometric
    TreeParameters const* formula = nullptr; ///< geometric, deeper than the tables
    BelowRule below{};                       ///< binomial, balanced, nothing
    std::int32_t depth = 0;

    [[nodiscard]] std::int32_t children(std::uint32_t draw) const {
        if (table) return table->children(draw);
        if (formula) return children_by_formula(*formula, depth, draw);
        return draw < below.limit ? below.many : 0;
    }
};

/// The rules of all depths of a tree. Immutable.
class ChildRules {
public:
    explicit ChildRules(TreeParameters const& tree);

    [[nodiscard]] ChildRule at(std::int32_t depth) const {
        if (static_cast<std::size_t>(depth) < table_of_.size()) return {.table = &tables_[table_of_[depth]]};
        if (depth < geometric_until_) return {.formula = &tree_, .depth = depth};
        return {.below = depth < deep_from_ ? shallow_ : deep_};
    }

private:
    void make_tables();

    TreeParameters tree_;
    std::vector<ThresholdTable> tables_;  ///< neighbours with the same branching factor share one
    std::vector<std::uint16_t> table_of_; ///< by depth
    std::int32_t geometric_until_ = 0;
    std::int32_t deep_from_ = 0;
    BelowRule shallow_, deep_;
};

} // namespace espalier::problems::uts
