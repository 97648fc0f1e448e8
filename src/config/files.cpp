#include "files.hpp"

#include "espalier/base/error.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

namespace espalier::config {
namespace {

constexpr std::size_t max_file_bytes = 16u << 20; // far above any experiment; stops at devices and wrong files

} // namespace

std::string read_text(std::filesystem::path const& file, FileKind const& kind) {
    auto const name = file.string();
    std::error_code ignored;
    if (std::filesystem::is_directory(file, ignored))
        throw base::InputError("{}: is a folder, not {}: name a YAML file, e.g. {}", name, kind.what, kind.example);
    errno = 0;
    std::ifstream in(file, std::ios::binary);
    if (!in)
        throw base::InputError("{}: cannot be read ({}): check the path and its permissions", name,
                               std::strerror(errno));
    std::string text(max_file_bytes + 1, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
    if (text.size() > max_file_bytes)
        throw base::InputError("{}: larger than 16 MiB, so not {}: name a YAML file", name, kind.what);
    return text;
}

std::string_view without_bom(std::string_view text) {
    constexpr std::string_view bom = "\xEF\xBB\xBF";
    return text.starts_with(bom) ? text.substr(bom.size()) : text;
}

} // namespace espalier::config
