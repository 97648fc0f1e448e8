#pragma once

#include "espalier/codegen/package.hpp"

#include <optional>
#include <span>
#include <string_view>

namespace espalier::codegen {

/// What a program can be made into.
struct Target {
    std::string_view name;
    std::string_view help;
    std::vector<TextFile> (*package)(Package const&);
    std::string_view caution; ///< said where it is made and where it would be run; empty: it runs here
};
/// The first is the default.
[[nodiscard]] std::span<Target const> targets();
[[nodiscard]] Target const* find_target(std::string_view name);

/// A way in which a program is used: what the folder then has besides.
struct Form {
    std::string_view name;
    std::string_view help;
    std::string_view target; ///< the only one that has it; empty: all have
    std::vector<TextFile> (*more)(Package const&);
};
/// The first is the default.
[[nodiscard]] std::span<Form const> forms();

} // namespace espalier::codegen
