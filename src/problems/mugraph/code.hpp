#pragma once

#include "espalier/problems/mugraph/report.hpp"

/// Stored programs as code.
namespace espalier::problems::mugraph {

/// What `emit` offers; the first is the default.
[[nodiscard]] std::vector<Format> code_targets();
/// The folder of a stored program, result `id`.
[[nodiscard]] std::vector<File> program_files(MugraphConfig const& config, search::ResultRecord const& record,
                                              std::size_t id, std::string const& target);

} // namespace espalier::problems::mugraph
