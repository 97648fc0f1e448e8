#pragma once

#include "espalier/program/op.hpp"

#include <optional>
#include <string_view>
#include <vector>

/// Ops that people write and that are made of ops of the table.
namespace espalier::program {

struct CompositionStep {
    OpCode op{};
    std::vector<int> in;        ///< operands of the whole: 0, 1, ..; then the results of earlier steps
    Attributes attributes{};    ///< of this step
    bool has_axis = false;      ///< and the axis of the whole
    bool is_over_count = false; ///< a scale over the size of that axis
};
/// The last step makes the result.
struct Composition {
    std::string_view name;
    int inputs = 1;
    bool has_axis = false;
    std::vector<CompositionStep> steps;
};
[[nodiscard]] std::vector<Composition> const& compositions();
[[nodiscard]] Composition const* find_composition(std::string_view name);

/// The op on the other operand that an op of two operands, one of them a constant, stands for. Nothing if the constant
/// cannot stand there.
enum class ConstantSide : std::uint8_t { left, right };
[[nodiscard]] std::optional<std::vector<CompositionStep>> with_constant(OpCode op, double constant, ConstantSide side);

} // namespace espalier::program
