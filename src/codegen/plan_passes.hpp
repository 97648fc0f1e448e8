#pragma once

#include "espalier/codegen/plan.hpp"

namespace espalier::codegen {

/// What is only made to be accumulated is accumulated at once; what is only made to be stored is stored at once.
void join_steps(Kernel& kernel, std::size_t first_tile);
/// A loop of one step puts nothing to what is there.
void forget_steps(Kernel& kernel);
/// Products that registers can hold are computed there; what they pack goes into new tiles.
void choose_products(Kernel& kernel, Plan& plan, CpuShape const& cpu);

} // namespace espalier::codegen
