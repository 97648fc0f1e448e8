#pragma once

#include <string_view>

/// The files of the page folder, compiled in by embed.cmake.
namespace espalier::analysis::report {

/// Markup with `{{name}}` where a part goes.
[[nodiscard]] std::string_view page_template();
[[nodiscard]] std::string_view page_style();
[[nodiscard]] std::string_view page_script();

} // namespace espalier::analysis::report
