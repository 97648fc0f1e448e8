#pragma once

#include "espalier/config/problem_section.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace espalier::problems::uts {

enum class TreeType { binomial, geometric, hybrid, balanced };
enum class TreeShape { linear, exponential, cyclic, fixed };

/// A tree of the Unbalanced Tree Search benchmark (UTS 2.1), in that benchmark's own parameters.
struct TreeParameters {
    TreeType type = TreeType::geometric;
    TreeShape shape = TreeShape::linear; ///< of the geometric part
    double b = 4;                        ///< branching factor at the root
    std::int32_t depth = 6;              ///< of the geometric and balanced kinds
    double q = 15.0 / 64.0;              ///< binomial: probability of m children
    std::int32_t m = 4;
    double shift = 0.5; ///< hybrid: geometric down to shift * depth
    std::int32_t seed = 0;

    bool operator==(TreeParameters const&) const = default;
};

struct NamedTree {
    std::string_view name;
    TreeParameters parameters;
};
/// T1..T5, T1L, T3L.
[[nodiscard]] std::span<NamedTree const> named_trees();

struct UtsConfig {
    std::string tree;             ///< name of a tree, empty for explicit parameters
    TreeParameters parameters;    ///< always filled in
    std::int32_t granularity = 1; ///< how often the hash of a node is repeated: slower nodes, same counts

    bool operator==(UtsConfig const&) const = default;
};

/// `kind: uts` in an experiment.
[[nodiscard]] config::ProblemSectionOf<UtsConfig> const& problem_section();

} // namespace espalier::problems::uts
