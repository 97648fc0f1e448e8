#pragma once

#include <filesystem>
#include <string>

namespace espalier::app {

/// A reader sees the old file or the new one. Nothing but a plain file is replaced: not a folder, not /dev/null.
/// `what` names the contents in messages: `the page`. Throws InputError or SystemError.
void write_file(std::filesystem::path const& file, std::string const& text, std::string const& what);

} // namespace espalier::app
