#pragma once

#include "espalier/codegen/plan.hpp"

#include <string>

namespace espalier::codegen {

/// A module of Python that calls the shared library on numpy arrays and torch tensors, through ctypes.
[[nodiscard]] std::string wrapper_source(Plan const& plan, std::string const& name);
/// One that registers the same as an op of torch, for tensors on the CPU; it stands beside that module.
[[nodiscard]] std::string torch_source(Plan const& plan, std::string const& name);

} // namespace espalier::codegen
