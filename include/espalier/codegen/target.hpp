#pragma once

#include "espalier/codegen/package.hpp"

#include <optional>
#include <span>
#include <string_view>

namespace espalier::codegen {

/// A language that programs can be written in.
struct Target {
    std::string_view name;
    std::string_view help;
    std::vector<TextFile> (*package)(Package const&);
    std::string_view caution; ///< printed where it is emitted and where it would be run; empty: it runs here
};
/// The first is the default.
[[nodiscard]] std::span<Target const> targets();
[[nodiscard]] Target const* find_target(std::string_view name);

/// A way in which a program is used: the additional files in its folder.
struct Form {
    std::string_view name;
    std::string_view help;
    std::string_view target; ///< the only target that has it; empty: all have it
    std::vector<TextFile> (*more)(Package const&);
};
/// The first is the default.
[[nodiscard]] std::span<Form const> forms();

} // namespace espalier::codegen
