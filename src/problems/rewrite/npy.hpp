#pragma once

#include "espalier/model/model.hpp"

#include <span>
#include <string>

namespace espalier::problems::rewrite {

/// One tensor as a .npy file. Throws InputError for texts; `name` is how errors call it.
[[nodiscard]] base::Bytes to_npy(model::Tensor const& tensor, std::string const& name);
/// Throws InputError for what is not one, and for what a model's tensor cannot be.
[[nodiscard]] model::Tensor parse_npy(std::span<std::byte const> bytes, std::string const& name);

} // namespace espalier::problems::rewrite
