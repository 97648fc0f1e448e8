#pragma once

#include "espalier/base/error.hpp"

#include <filesystem>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace espalier::analysis::exports {

/// Throws InputError if something is there that is not an OTF2 archive like ours.
inline void check_replaceable(std::filesystem::path const& folder) {
    if (!std::filesystem::exists(std::filesystem::symlink_status(folder))) return;
    auto const refuse = [&](std::string_view why) {
        throw base::InputError("{}: {}, which would be lost: remove it or choose another name", folder.string(), why);
    };
    if (!std::filesystem::is_directory(folder)) refuse("it is not a folder");
    bool has_anchor = false, is_empty = true;
    for (auto const& entry : std::filesystem::directory_iterator(folder)) {
        auto const name = entry.path().filename().string();
        if (name != "traces.otf2" && name != "traces.def" && name != "traces")
            refuse(fmt::format("the folder holds '{}', which is not part of an OTF2 archive", name));
        has_anchor |= name == "traces.otf2";
        is_empty = false;
    }
    if (!has_anchor && !is_empty) refuse("the folder holds no OTF2 archive (no traces.otf2)");
}

/// A folder beside the wanted one that takes its place when it is complete, and is removed otherwise.
class NewFolder {
public:
    explicit NewFolder(std::filesystem::path folder)
        : folder_(std::move(folder)), partial_(beside(folder_, "partial")) {
        check_replaceable(folder_);
        std::error_code error;
        std::filesystem::create_directory(partial_, error);
        if (error) fail(error);
    }
    ~NewFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(partial_, ignored);
    }
    NewFolder(NewFolder const&) = delete;
    NewFolder& operator=(NewFolder const&) = delete;
    [[nodiscard]] std::filesystem::path const& partial() const { return partial_; }

    void complete() {
        std::error_code error;
        auto const old = beside(folder_, "old");
        auto const is_replaced = std::filesystem::exists(folder_);
        if (is_replaced) std::filesystem::rename(folder_, old, error);
        if (error) fail(error);
        std::filesystem::rename(partial_, folder_, error);
        if (error) {
            std::error_code ignored;
            if (is_replaced) std::filesystem::rename(old, folder_, ignored);
            fail(error);
        }
        if (is_replaced) std::filesystem::remove_all(old, error);
    }

private:
    static std::filesystem::path beside(std::filesystem::path const& folder, std::string_view what) {
        return folder.string() + fmt::format(".{}-{}", what, ::getpid());
    }
    [[noreturn]] void fail(std::error_code error) const {
        throw base::SystemError("{}: cannot be written: {}: choose another place, or make room there", folder_.string(),
                                error.message());
    }
    std::filesystem::path folder_, partial_;
};

} // namespace espalier::analysis::exports
