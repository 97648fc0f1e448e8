#pragma once

#include "espalier/analysis/analysis.hpp"

#include <variant>

namespace espalier::analysis {

/// Rows and columns that a person, a spreadsheet or a script reads.
struct Table {
    using Cell = std::variant<std::string, double, std::uint64_t>;
    std::vector<std::string> columns;
    std::vector<std::vector<Cell>> rows; ///< as many cells as there are columns
};

/// `table` (for people), `json`, `csv` or `md`.
[[nodiscard]] std::string render(Table const& table, std::string const& format);
/// Only these columns, in this order (names separated by commas). Throws InputError that names the unknown one and
/// lists all that exist.
[[nodiscard]] Table select(Table const& table, std::string const& columns);

/// One row per rank, thread or host, or one per activity; times in seconds per thread, the largest loss first. `top` 0:
/// all.
[[nodiscard]] Table table_by(Analysis const& analysis, std::string const& what, std::size_t top);

/// The whole story on a terminal: the run in one line, efficiencies with the time they cost, where the time went, busy
/// threads over time, the longest subtrees, hints.
[[nodiscard]] std::string trace_text(TraceSource const& source, Analysis const& analysis);

} // namespace espalier::analysis
