#include "espalier/cluster/collectives/calibration.hpp"

#include "espalier/base/error.hpp"
#include "espalier/base/units.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace espalier::cluster::collectives {
namespace {

/// Three digits: more were never measured.
std::uint64_t rounded(double value) {
    auto const scale = std::pow(10, std::max(0.0, std::floor(std::log10(std::max(value, 1.0))) - 2));
    return static_cast<std::uint64_t>(std::round(value / scale) * scale);
}

/// Decimal units only, as networks are sold; without an exponent, and within what an experiment may say.
std::string rate_text(double bytes_a_second) {
    auto const rate = rounded(std::clamp(bytes_a_second, 1e3, 1e15));
    auto const [size, unit] = rate >= 1'000'000'000 ? std::pair(1e9, "GB/s")
                              : rate >= 1'000'000   ? std::pair(1e6, "MB/s")
                                                    : std::pair(1e3, "kB/s");
    return fmt::format("{}{}", static_cast<double>(rate) / size, unit);
}

std::string bandwidth_text(Line const& line) { return rate_text(1 / std::max(line.seconds_per_byte, 1e-15)); }

std::string latency_text(Line const& line) {
    return fmt::format(
        "{}us", static_cast<double>(std::max<std::uint64_t>(1, rounded(1e9 * std::min(line.latency, 10.0)))) / 1e3);
}

std::string line_text(Line const& line) {
    return fmt::format("{} + bytes / {}", latency_text(line), bandwidth_text(line));
}

std::string comments(Calibration const& calibration) {
    auto out = fmt::format("# Written by `espalier collectives --calibrate` on {}: {} ranks on {} ({}).\n"
                           "# Fitted times, alone and with all pairs or groups of the level at once; bytes are of a "
                           "message, or of a rank's payload:\n",
                           calibration.date, calibration.ranks, fmt::join(calibration.hosts, ", "), calibration.mpi);
    for (auto const& level : calibration.levels)
        for (auto const& kind : level.kinds)
            out += fmt::format("#   {:<6} {:<15} alone {:<32} at once {}\n", level.name, kind.name,
                               line_text(kind.alone), line_text(kind.together));
    return out;
}

} // namespace

int links_of(FittedLevel const& level) {
    auto const& [_, alone, together] = level.kinds.front();
    if (alone.seconds_per_byte <= 0 || together.seconds_per_byte <= 0) return 1;
    auto const at_once = level.concurrent * alone.seconds_per_byte / together.seconds_per_byte;
    return std::clamp(static_cast<int>(std::lround(at_once)), 1, level.concurrent);
}

std::string to_yaml(Calibration const& calibration) {
    auto out = comments(calibration) + "hierarchy:\n";
    for (auto const& level : calibration.levels) {
        auto const& line = level.kinds.front().alone;
        out += fmt::format("  - {{name: {}, size: {}, bandwidth: {}, latency: {}, links: {}}}\n", level.name,
                           level.size, bandwidth_text(line), latency_text(line), links_of(level));
    }
    return out;
}

std::vector<std::vector<int>> ranks_by_host(std::vector<std::string> const& hosts) {
    std::vector<std::vector<int>> list;
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
        if (rank == 0 || hosts[rank] != hosts[rank - 1]) {
            if (std::count(hosts.begin(), hosts.begin() + static_cast<std::ptrdiff_t>(rank), hosts[rank]) > 0)
                throw base::InputError("the ranks of host {} do not follow each other (levels are counted in the order "
                                       "of ranks): start as many ranks a host as it has, e.g. `mpiexec -ppn N`",
                                       hosts[rank]);
            list.emplace_back();
        }
        list.back().push_back(static_cast<int>(rank));
    }
    for (auto const& ranks : list)
        if (ranks.size() != list.front().size())
            throw base::InputError(
                "hosts {} and {} have {} and {} ranks (levels have one size): start as many ranks on "
                "every host",
                hosts.front(), hosts[static_cast<std::size_t>(ranks.front())], list.front().size(), ranks.size());
    return list;
}

} // namespace espalier::cluster::collectives
