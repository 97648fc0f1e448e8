#pragma once

#include <filesystem>
#include <string_view>

namespace espalier::base {

/// A folder of this process alone, among the temporary files; gone, with everything in it, when the object is.
class ScratchFolder {
public:
    /// Throws SystemError.
    ScratchFolder();
    ~ScratchFolder();
    ScratchFolder(ScratchFolder const&) = delete;
    ScratchFolder& operator=(ScratchFolder const&) = delete;
    [[nodiscard]] std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

private:
    std::filesystem::path path_;
};

} // namespace espalier::base
