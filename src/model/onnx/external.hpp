#pragma once

#include "proto.hpp"

#include <cstdint>
#include <filesystem>
#include <span>

namespace espalier::model {

/// The folder of a model file, for tensors whose elements lie in files beside it.
///
/// A file says which: so nothing outside this folder is ever opened, neither by its path nor through a link.
class ExternalData {
public:
    /// Empty: there is no folder, and tensors that want one are refused.
    explicit ExternalData(std::string folder) : folder_(std::move(folder)) {}

    [[nodiscard]] std::string const& folder() const { return folder_; }
    /// All of `out`. Throws InputError if they are not there.
    void read(pb::TensorProto const& tensor, std::span<std::byte> out) const;
    /// The file it lies in, if it is there and large enough.
    [[nodiscard]] std::filesystem::path check(pb::TensorProto const& tensor) const;

private:
    std::string folder_;
};

[[nodiscard]] inline bool is_external(pb::TensorProto const& tensor) {
    return tensor.data_location() == pb::TensorProto::EXTERNAL;
}

} // namespace espalier::model
