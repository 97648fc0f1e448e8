#pragma once

#include "espalier/problems/kind/command.hpp"
#include "espalier/problems/rewrite/rewrite.hpp"

#include <string>

namespace espalier::problems::rewrite {

/// `espalier optimize`: an experiment of this kind, searched, and its answer as a file.
[[nodiscard]] Command optimize_command();

[[nodiscard]] std::string variant_text(Variant const& variant);
/// SVG: the parts that are rewritten, before and after.
[[nodiscard]] std::string drawing(Plan const& plan, Variant const& variant);

} // namespace espalier::problems::rewrite
