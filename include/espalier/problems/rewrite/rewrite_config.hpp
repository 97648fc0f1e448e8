#pragma once

#include "espalier/config/problem_section.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace espalier::problems::rewrite {

/// Where costs come from.
enum class CostKind : std::uint8_t { automatic, estimated, measured };

struct RewriteConfig {
    std::string model;        ///< an ONNX file
    std::string digest;       ///< of its bytes; empty: not looked at yet
    std::string rules;        ///< a file; empty: the library that comes with Espalier
    std::string rules_digest; ///< the same
    std::string backend;      ///< a command; empty: none
    CostKind cost = CostKind::automatic;
    std::map<std::string, std::int64_t> sizes;
    std::int32_t threads = 1;
    std::int32_t max_rewrites = 10;
    std::int32_t max_states = 16;
    std::int32_t variants = 4;
    std::int32_t part = 16;
    double alpha = 1.3;
    bool unproved = false;

    bool operator==(RewriteConfig const&) const = default;
    [[nodiscard]] bool is_measured() const {
        return cost == CostKind::measured || (cost == CostKind::automatic && !backend.empty());
    }
};

/// `kind: rewrite` in an experiment.
[[nodiscard]] config::ProblemSectionOf<RewriteConfig> const& problem_section();

} // namespace espalier::problems::rewrite
