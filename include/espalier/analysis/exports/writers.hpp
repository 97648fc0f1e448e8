#pragma once

#include "espalier/analysis/exports/exports.hpp"

/// One function per format; see write().
namespace espalier::analysis::exports {

Written write_perfetto(TraceSource& source, Window const& window, std::filesystem::path const& file);
Written write_chrome(TraceSource& source, Window const& window, std::filesystem::path const& file);
Written write_otf2(TraceSource& source, Window const& window, std::filesystem::path const& folder);
Written write_csv(TraceSource& source, Window const& window, std::filesystem::path const& file);
Written write_folded(TraceSource& source, Window const& window, std::filesystem::path const& file);

} // namespace espalier::analysis::exports
