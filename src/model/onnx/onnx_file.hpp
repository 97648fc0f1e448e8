#pragma once

#include "proto.hpp"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace espalier::model {

/// A node of the file that is a constant of the model.
struct ConstantNode {
    std::size_t index = 0;
    std::string name; ///< of the constant
};

/// The file that a model was read from. What the model does not know of it is found here when it is written again.
struct OnnxFile {
    base::Bytes bytes;
    std::string folder;
    std::int64_t ir_version = 0;
    Model as_read; ///< its `file` is null
    std::vector<ConstantNode> constant_nodes;
    std::set<std::string> names_elsewhere; ///< values that other parts of the file speak of
    std::set<std::string> data_files;      ///< where external data lie
};

/// From this version on initializers need not be inputs, and those that are can be replaced.
inline constexpr std::int64_t first_ir_with_defaults = 4;

/// Throws InputError if the bytes are no model.
[[nodiscard]] pb::ModelProto parse_model(base::Bytes const& bytes);

} // namespace espalier::model
