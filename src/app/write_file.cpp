#include "write_file.hpp"

#include "espalier/base/error.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace espalier::app {

namespace fs = std::filesystem;

void write_file(fs::path const& file, std::string const& text, std::string const& what) {
    std::error_code ignored;
    if (fs::exists(file, ignored) && !fs::is_regular_file(file, ignored))
        throw base::InputError("{}: exists and is not a plain file ({} replaces only a file): name another with -o",
                               file.string(), what);
    auto const temporary = fs::path(fmt::format("{}.{}.tmp", file.string(), ::getpid()));
    auto* const out = std::fopen(temporary.c_str(), "wbx"); // never through an existing link
    auto const is_written = out != nullptr && std::fwrite(text.data(), 1, text.size(), out) == text.size();
    auto const is_closed = out != nullptr && std::fclose(out) == 0;
    if (is_written && is_closed && std::rename(temporary.c_str(), file.c_str()) == 0) return;
    std::string const reason = std::strerror(errno);
    fs::remove(temporary, ignored);
    throw base::SystemError("{}: cannot write {}: {} (nothing was replaced): name another file with -o", file.string(),
                            what, reason);
}

} // namespace espalier::app
