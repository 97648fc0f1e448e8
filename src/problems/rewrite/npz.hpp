#pragma once

#include "espalier/model/model.hpp"

#include <filesystem>
#include <map>
#include <span>
#include <string>

namespace espalier::problems::rewrite {

using Tensors = std::map<std::string, model::Tensor>;

/// Tensors by name as numpy keeps them: a zip of .npy files, stored, little-endian, rows first. numpy has no bf16: such
/// elements are written as u16, bit by bit, and stay u16 when they are read. Throws InputError for texts, and beyond
/// 4 GB.
[[nodiscard]] base::Bytes to_npz(Tensors const& tensors);
/// Reads what numpy.savez writes, of elements that a model can have. `file` is how errors call it. Throws InputError
/// for anything else: damaged, compressed, columns first, big-endian, objects, texts.
[[nodiscard]] Tensors parse_npz(std::span<std::byte const> bytes, std::string const& file);

/// Throws SystemError where it cannot be written.
void write_npz(std::filesystem::path const& file, Tensors const& tensors);
/// Throws InputError where it cannot be read.
[[nodiscard]] Tensors read_npz(std::filesystem::path const& file);

} // namespace espalier::problems::rewrite
