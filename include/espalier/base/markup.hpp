#pragma once

#include <string>
#include <string_view>

namespace espalier::base {

/// Text as content or attribute of HTML and XML. Control characters that XML does not allow become U+FFFD.
[[nodiscard]] std::string escaped(std::string_view text);

} // namespace espalier::base
