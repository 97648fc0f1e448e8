#pragma once

#include "onnx.pb.h" // made by protoc in the build folder

#include "espalier/model/model.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

/// What the files of this folder share: ONNX's messages, and how errors name their parts.
namespace espalier::model {

namespace pb = ::onnx;

/// A name as messages show it: printable, and not endless.
[[nodiscard]] std::string quoted(std::string const& name);
/// `node 'a' (Conv)`; one without a name by its place in the file.
[[nodiscard]] std::string place_of(pb::NodeProto const& node, std::size_t index);
[[nodiscard]] std::string place_of(Node const& node);

/// ONNX's limit: 2 GB.
inline constexpr std::size_t largest_file = std::numeric_limits<std::int32_t>::max();
[[noreturn]] void refuse_size(std::uint64_t bytes);
/// Throws InputError if they are over 2 GB.
[[nodiscard]] base::Bytes serialized(google::protobuf::MessageLite const& message);

/// ONNX's own operators have two names of their domain.
[[nodiscard]] inline std::string domain_of(std::string const& domain) {
    return domain == "ai.onnx" ? std::string{} : domain;
}

} // namespace espalier::model
