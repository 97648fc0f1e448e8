#pragma once

#include "espalier/base/json.hpp"
#include "espalier/base/markup.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Text that cannot become markup: programs, host names and command lines are written by others.
namespace espalier::analysis::report {

using base::escaped;
/// For a script element of type application/json: no `<` is left, so nothing in it ends the element or opens a comment.
/// Bytes that are not UTF-8 are replaced.
[[nodiscard]] std::string script_json(base::Json const& value);
[[nodiscard]] std::string base64(std::span<std::uint8_t const> bytes);
[[nodiscard]] std::string base64(std::string_view text);

using Parts = std::vector<std::pair<std::string_view, std::string>>;
/// Puts the parts where the template says `{{name}}`. What is put in is not looked at again.
[[nodiscard]] std::string filled(std::string_view text, Parts const& parts);

/// For people: `275,416.9`, `36.594`, `1.2e-9`. Five digits, or all before the point and one after it.
[[nodiscard]] std::string number_text(double value);

/// A cell: what is shown, already escaped, and what it sorts by.
struct Cell {
    std::string html;
    std::string value; ///< empty: what is shown
    bool is_number = false;
};
/// A cell for a number, a word or a truth value of a result.
[[nodiscard]] Cell cell_of(base::Json const& value);
[[nodiscard]] std::string table_row(std::vector<Cell> const& cells);

} // namespace espalier::analysis::report
