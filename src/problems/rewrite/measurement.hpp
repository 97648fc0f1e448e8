#pragma once

#include "optimize.hpp"

#include <string>

namespace espalier::problems::rewrite {

/// `Add, Clip, Mul, Div -> HardSwish (rule 53b1df42a3b4f261)`.
[[nodiscard]] std::string step_text(Plan const& plan, std::uint32_t family, Use const& use);

/// The variant with times of the experiment's back end, in turns with what it replaces, on the same random inputs, each
/// in processes of its own. Whatever goes wrong there is told in it. Throws Stopped.
[[nodiscard]] Variant measured_on_backend(Plan const& plan, Variant const& variant, Folder& folder, std::uint64_t seed,
                                          base::StopToken const& stop);

} // namespace espalier::problems::rewrite
