#pragma once

#include "espalier/cluster/collectives/statistics.hpp"

#include <string>
#include <vector>

namespace espalier::cluster::collectives {

/// What was measured of one kind of message at one level: alone, and by all pairs or groups of the level at once.
struct Fitted {
    std::string name; ///< `point-to-point`, `AllReduce`, ...
    Line alone;
    Line together;
};

struct FittedLevel {
    std::string name;
    int size = 1;
    int concurrent = 1;        ///< messages that left an instance at once in `together`
    std::vector<Fitted> kinds; ///< point-to-point first
};

/// How many messages a level carries at once without slowing down.
[[nodiscard]] int links_of(FittedLevel const& level);

struct Calibration {
    std::vector<FittedLevel> levels;
    std::vector<std::string> hosts; ///< without repetition
    int ranks = 1;
    std::string mpi;
    std::string date;
};
/// A hierarchy as `problem.hierarchy` reads it, below comments with everything that was fitted.
[[nodiscard]] std::string to_yaml(Calibration const& calibration);

/// Ranks of each host. Throws InputError if hosts have different numbers of ranks or theirs do not follow each other.
[[nodiscard]] std::vector<std::vector<int>> ranks_by_host(std::vector<std::string> const& hosts);

} // namespace espalier::cluster::collectives
