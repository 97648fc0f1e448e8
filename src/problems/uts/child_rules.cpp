#include "espalier/problems/uts/child_rules.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace espalier::problems::uts {
namespace {

constexpr std::int32_t endless = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t max_tables = 256; // deeper nodes are few, and may take logarithms

/// Like a cast to int, but defined for every value; no number of children is negative.
std::int32_t whole(double x) {
    if (!(x >= 1)) return 0;
    return x < endless ? static_cast<std::int32_t>(x) : endless;
}

double probability(std::uint32_t draw) { return static_cast<double>(draw) / 2147483648.0; }

/// Expected number of children at a depth of the geometric part.
double branching(TreeParameters const& tree, std::int32_t depth) {
    if (depth == 0) return tree.b;
    auto const d = static_cast<double>(tree.depth);
    switch (tree.shape) {
    case TreeShape::linear:
        return tree.b * (1.0 - depth / d);
    case TreeShape::exponential:
        return tree.b * std::pow(depth, -std::log(tree.b) / std::log(d));
    case TreeShape::cyclic:
        return depth > 5.0 * d ? 0.0 : std::pow(tree.b, std::sin(2.0 * 3.141592653589793 * depth / d));
    case TreeShape::fixed:
        return depth < tree.depth ? tree.b : 0.0;
    }
    return 0;
}

std::int32_t geometric_children(TreeParameters const& tree, std::int32_t depth, std::uint32_t draw) {
    auto const p = 1.0 / (1.0 + branching(tree, depth));
    return std::min(whole(std::floor(std::log(1 - probability(draw)) / std::log(1 - p))), max_children);
}

std::int32_t binomial_children(TreeParameters const& tree, std::uint32_t draw) {
    return probability(draw) < tree.q ? std::clamp(tree.m, 0, max_children) : 0;
}

bool is_geometric(TreeParameters const& tree, std::int32_t depth) {
    return tree.type == TreeType::geometric || (tree.type == TreeType::hybrid && depth < tree.shift * tree.depth);
}

/// The smallest draw in [from, draws) that `holds`, which is monotone; `draws` if none does.
template <class Predicate>
std::uint32_t first_that(std::uint32_t from, Predicate holds) {
    auto to = draws;
    while (from < to) {
        auto const middle = from + (to - from) / 2;
        if (holds(middle))
            to = middle;
        else
            from = middle + 1;
    }
    return from;
}

/// No node is geometric from this depth on.
std::int32_t geometric_end(TreeParameters const& tree) {
    if (!is_geometric(tree, 0)) return 0;
    auto end = static_cast<double>(endless);
    if (tree.shape == TreeShape::linear || tree.shape == TreeShape::fixed) end = tree.depth;
    if (tree.shape == TreeShape::cyclic) end = 5.0 * tree.depth + 1;
    if (tree.type == TreeType::hybrid) end = std::min(end, std::ceil(tree.shift * tree.depth));
    return std::max(whole(end), 1);
}

BelowRule binomial_rule(TreeParameters const& tree) {
    auto const limit = first_that(0, [&](std::uint32_t draw) { return !(probability(draw) < tree.q); });
    return {limit, std::clamp(tree.m, 0, max_children)};
}

} // namespace

std::int32_t children_by_formula(TreeParameters const& tree, std::int32_t depth, std::uint32_t draw) {
    if (is_geometric(tree, depth)) return geometric_children(tree, depth, draw);
    if (tree.type == TreeType::balanced) return depth < tree.depth ? std::min(whole(tree.b), max_children) : 0;
    if (tree.type == TreeType::binomial && depth == 0) return whole(tree.b);
    return binomial_children(tree, draw);
}

ThresholdTable::ThresholdTable(TreeParameters const& tree, std::int32_t depth) {
    first_draw_.fill(draws);
    first_draw_[0] = 0;
    for (std::int32_t n = 1; n <= max_children && first_draw_[n - 1] < draws; ++n)
        first_draw_[n] = first_that(first_draw_[n - 1],
                                    [&](std::uint32_t draw) { return geometric_children(tree, depth, draw) >= n; });
    std::uint8_t n = 0;
    for (std::uint32_t bucket = 0; bucket < at_bucket_.size(); ++bucket) {
        while ((bucket << bucket_bits) >= first_draw_[n + 1]) ++n;
        at_bucket_[bucket] = n;
    }
}

ChildRules::ChildRules(TreeParameters const& tree) : tree_(tree), geometric_until_(geometric_end(tree)) {
    make_tables();
    if (tree.type == TreeType::binomial || tree.type == TreeType::hybrid) deep_ = binomial_rule(tree);
    if (tree.type == TreeType::binomial || tree.type == TreeType::balanced)
        shallow_ = {draws, children_by_formula(tree, 0, 0)};
    deep_from_ = tree.type == TreeType::balanced ? tree.depth : 1;
}

void ChildRules::make_tables() {
    for (std::int32_t depth = 0; depth < std::min(geometric_until_, max_tables); ++depth) {
        auto const is_new = depth == 0 || branching(tree_, depth) != branching(tree_, depth - 1);
        if (is_new) tables_.emplace_back(tree_, depth);
        table_of_.push_back(static_cast<std::uint16_t>(tables_.size() - 1));
    }
}

} // namespace espalier::problems::uts
