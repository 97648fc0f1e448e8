#pragma once

#include "espalier/config/problem_section.hpp"
#include "espalier/problems/substitution/affine_config.hpp"

#include <cstdint>

namespace espalier::problems::substitution {

/// Which operators and inputs graphs are made of.
enum class SpaceName : std::uint8_t { taso, affine };
/// Which graphs with concats count: those with an order of all tensors that concats keep to, or all.
enum class OperandOrder : std::uint8_t { taso, all };
enum class OutputsWanted : std::uint8_t { any, one };

struct SubstitutionConfig {
    SpaceName space = SpaceName::taso;
    OperandOrder order = OperandOrder::taso;
    std::int32_t max_ops = 3;
    OutputsWanted outputs = OutputsWanted::any;
    AffineConfig affine; ///< of that space

    bool operator==(SubstitutionConfig const&) const = default;
};

/// `kind: substitution` in an experiment.
[[nodiscard]] config::ProblemSectionOf<SubstitutionConfig> const& problem_section();

} // namespace espalier::problems::substitution
