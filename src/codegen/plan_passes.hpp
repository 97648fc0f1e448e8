#pragma once

#include "espalier/codegen/plan.hpp"

namespace espalier::codegen {

/// A result that is only accumulated is accumulated at once; one that is only stored is stored at once.
void join_steps(Kernel& kernel, std::size_t first_tile);
/// A loop of one step adds nothing to earlier results.
void forget_steps(Kernel& kernel);
/// Products that registers can hold are computed there; what they pack goes into new tiles.
void choose_products(Kernel& kernel, Plan& plan, CpuShape const& cpu);

} // namespace espalier::codegen
