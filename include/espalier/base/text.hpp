#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// Text that came from outside: names, files, messages of libraries.
namespace espalier::base {

/// Bytes of the character at the front; 0 if there is none in well-formed UTF-8 (Unicode 15, table 3-7). The text is
/// not empty.
[[nodiscard]] std::size_t utf8_length(std::string_view text);
[[nodiscard]] bool is_utf8(std::string_view text);

/// For a terminal: what could move the cursor, set colours, ring the bell or turn the direction of writing is shown as
/// `\x1b` or `\u202e`, and so are bytes that are not UTF-8. Line ends and tabs stay.
[[nodiscard]] std::string printable(std::string_view text);

} // namespace espalier::base
