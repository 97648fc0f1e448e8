#pragma once

#include "espalier/model/model.hpp"

#include <cstdint>
#include <string>

namespace espalier::model {

/// Whether this build reads and writes ONNX (it was built with protobuf and ONNX's description of its files).
[[nodiscard]] bool has_onnx();

/// Throws InputError: for what is not a model, with the node where there is one; and where this build has no ONNX.
[[nodiscard]] Model read_onnx(std::string const& path);
/// The same from bytes; `folder` is where external data lie. Without one a model with external data is refused.
[[nodiscard]] Model parse_onnx(base::Bytes const& bytes, std::string const& folder);

/// The model as a file. What was not changed is as it was read: names, documentation, metadata, opsets, unknown fields.
/// An untouched model is its file, byte for byte. Constants that nothing uses any more are left out of a changed one.
/// Tensors whose data lie in files beside the model stay there if the file is for the same `folder`; otherwise they are
/// taken into it. Throws InputError if names do not fit together, or if it would be over 2 GB, ONNX's limit.
[[nodiscard]] base::Bytes to_onnx(Model const& model, std::string const& folder = {});
/// Under a temporary name, then renamed; a link under this name is replaced, not followed. Throws SystemError.
void write_onnx(Model const& model, std::string const& path);

/// How many nodes the model has, Constant, Identity and ConstantOfShape apart; those of branches and loops included.
[[nodiscard]] std::size_t count_nodes(Model const& model);
/// A tensor as ONNX keeps it in a file of its own (test data, inputs and outputs of a back end). Throws InputError.
[[nodiscard]] Tensor parse_tensor(base::Bytes const& bytes, std::string* name = nullptr);
[[nodiscard]] base::Bytes to_tensor_file(Tensor const& tensor, std::string const& name);

} // namespace espalier::model
