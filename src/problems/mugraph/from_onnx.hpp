#pragma once

#include "espalier/program/source.hpp"

#include <string>

namespace espalier::problems::mugraph {

/// The block that an ONNX file holds, as a program in ops. Constants with more than one element become inputs that are
/// weights; dimensions are numbers, those with names are 1. Throws InputError, which names the node.
[[nodiscard]] program::Source source_from_onnx(std::string const& path);

} // namespace espalier::problems::mugraph
