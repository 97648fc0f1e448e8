#include "espalier/analysis/exports/exports.hpp"

#include "espalier/analysis/exports/writers.hpp"
#include "espalier/base/error.hpp"
#include "espalier/base/suggest.hpp"

#include <fmt/ranges.h>

#include <algorithm>

namespace espalier::analysis::exports {
namespace {

using Writer = Written (*)(TraceSource&, Window const&, std::filesystem::path const&);
/// In the order of `formats`.
constexpr std::array<Writer, formats.size()> writers{write_perfetto, write_chrome, write_otf2, write_csv, write_folded};

} // namespace

Written write(TraceSource& source, Window const& window, std::string const& format, std::filesystem::path const& file) {
    auto const found = std::ranges::find(formats, format);
    if (found == formats.end()) {
        auto const meant = base::near_word(format, {formats.begin(), formats.end()});
        throw base::InputError("'{}' is not an export format{}: choose one of {}", format,
                               meant ? fmt::format("; did you mean '{}'?", *meant) : "", fmt::join(formats, ", "));
    }
    return writers[static_cast<std::size_t>(found - formats.begin())](source, window, file);
}

} // namespace espalier::analysis::exports
