#pragma once

#include "espalier/config/problem_section.hpp"
#include "espalier/problems/mutation/arrangement.hpp"
#include "espalier/problems/mutation/linear_program.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace espalier::problems::mutation {

/// A dimension with a name, or an input with sizes that may be such names.
struct DimConfig {
    std::string name;
    std::int64_t size = 1;

    bool operator==(DimConfig const&) const = default;
};
struct InputConfig {
    std::string name;
    std::vector<std::string> sizes;

    bool operator==(InputConfig const&) const = default;
};
struct OpConfig {
    std::string out;
    Compute op = Compute::conv;
    std::vector<std::string> in;
    std::array<std::int32_t, 2> stride{1, 1}, dilation{1, 1}, padding{0, 0};

    bool operator==(OpConfig const&) const = default;
};
/// A linear program as a person writes it.
struct ProgramConfig {
    std::vector<DimConfig> dims;
    std::vector<InputConfig> inputs;
    std::vector<OpConfig> ops;
    std::vector<std::string> outputs;

    bool operator==(ProgramConfig const&) const = default;
};

struct MutationConfig {
    ProgramConfig program;
    Family family;
    std::int32_t max_ops = 3;

    bool operator==(MutationConfig const&) const = default;
};

/// What the config describes; it has been checked.
[[nodiscard]] LinearProgram linear_program(ProgramConfig const& config);
/// In the order of the program's operands.
[[nodiscard]] std::array<std::string, 2> input_names(ProgramConfig const& config);

/// `kind: mutation` in an experiment.
[[nodiscard]] config::ProblemSectionOf<MutationConfig> const& problem_section();

} // namespace espalier::problems::mutation
