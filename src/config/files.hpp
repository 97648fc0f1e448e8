#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace espalier::config {

/// What a file should be, for messages: `an experiment`, and one that is.
struct FileKind {
    std::string_view what;
    std::string_view example;
};
/// Throws InputError.
[[nodiscard]] std::string read_text(std::filesystem::path const& file, FileKind const& kind);
/// Without the byte order mark that some editors put first.
[[nodiscard]] std::string_view without_bom(std::string_view text);

} // namespace espalier::config
