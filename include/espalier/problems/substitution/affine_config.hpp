#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::problems::substitution {

/// How many inputs of each class the graphs of `space: affine` may read.
struct AffineInputs {
    std::int32_t data = 2, scalar = 3, channel = 1, bias = 1, weights = 1;

    bool operator==(AffineInputs const&) const = default;
};

/// What graphs of `space: affine` are made of.
struct AffineConfig {
    AffineInputs inputs;
    std::vector<std::string> operators{"add",        "mul",  "div",  "clip",        "hard_sigmoid",
                                       "hard_swish", "relu", "conv", "merge_groups"};
    std::vector<std::string> constants{"0", "1", "3", "6", "1/6", "1/2"};
    std::int32_t data_ops = 2; ///< of at most max_ops operators, those that read data
    std::int32_t to_ops = 2;   ///< ... on the smaller side of a rule

    bool operator==(AffineConfig const&) const = default;
};

} // namespace espalier::problems::substitution
