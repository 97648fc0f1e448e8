#include "proto.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/text.hpp"

#include <fmt/core.h>

namespace espalier::model {

std::string quoted(std::string const& name) {
    constexpr std::size_t most = 120;
    auto const shown = base::printable(name.substr(0, most));
    return fmt::format("'{}{}'", shown, name.size() > most ? ".." : "");
}

std::string place_of(pb::NodeProto const& node, std::size_t index) {
    auto const op = base::printable(node.op_type().substr(0, 80));
    if (!node.name().empty()) return fmt::format("node {} ({})", quoted(node.name()), op);
    if (node.output_size() > 0 && !node.output(0).empty())
        return fmt::format("the node that makes {} ({})", quoted(node.output(0)), op);
    return fmt::format("node {} of the file ({})", index + 1, op);
}

std::string place_of(Node const& node) {
    pb::NodeProto proto;
    proto.set_name(node.name);
    proto.set_op_type(node.op);
    if (!node.outputs.empty()) proto.add_output(node.outputs.front());
    return place_of(proto, node.origin.value_or(0));
}

void refuse_size(std::uint64_t bytes) {
    throw base::InputError(
        "the model would have {} bytes in one file, and ONNX's limit is 2 GB: if its data were in files "
        "beside it, write it into the same folder, where they stay there",
        bytes);
}

base::Bytes serialized(google::protobuf::MessageLite const& message) {
    auto const size = message.ByteSizeLong();
    if (size > largest_file) refuse_size(size);
    base::Bytes bytes(size);
    if (!message.SerializeToArray(bytes.data(), static_cast<int>(size)))
        throw base::InputError("the model cannot be written as ONNX");
    return bytes;
}

} // namespace espalier::model
