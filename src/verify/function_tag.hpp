#pragma once

#include "espalier/program/op.hpp"

#include <bit>

namespace espalier::verify {

/// Names the random function of an op: functions that differ in an attribute (the bounds of a clamp) are different
/// ones.
[[nodiscard]] inline std::uint32_t function_tag(program::OpInfo const& row, program::Attributes const& attributes) {
    if (row.field.access != program::Access::pointwise) return row.field.tag;
    auto tag = row.field.tag;
    for (auto const name : row.attributes) {
        auto const* const attribute = attributes.find(name);
        if (!attribute) continue;
        for (auto const value : attribute->values) { // + 0.0: one zero
            auto const bits = std::bit_cast<std::uint64_t>(value + 0.0);
            tag = static_cast<std::uint32_t>(field::mix(field::mix(bits + static_cast<std::uint64_t>(name)) ^ tag));
        }
    }
    return tag;
}

} // namespace espalier::verify
