#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Devices in a hierarchy, how parallelism axes are laid over them, and programs of collectives that reduce over axes.
/// Pure: no MPI, no search.
namespace espalier::reduction {

/// One level, outermost first: `size` instances in each instance of the level above, each with links of its own that
/// carry all that leaves it.
struct Level {
    std::string name;
    int size = 1;
    double bandwidth = 1e9; ///< bytes per second of a link, each way
    double latency = 1e-6;  ///< seconds of a message between instances
    int links = 1;          ///< NICs of a node, links of a device: concurrent messages share all, one message has one

    bool operator==(Level const&) const = default;
};
using Hierarchy = std::vector<Level>;

[[nodiscard]] int devices(Hierarchy const& hierarchy);
/// Index at each level of a device.
[[nodiscard]] std::vector<int> position(Hierarchy const& hierarchy, int device);

/// How many ways axis i is split at level j: rows multiply to the sizes of the axes, columns to those of the levels.
using Matrix = std::vector<std::vector<int>>;

/// All placements, in lexicographic order of the matrices.
[[nodiscard]] std::vector<Matrix> placements(std::vector<int> const& axes, Hierarchy const& hierarchy);

/// Coordinate on each axis of a device: its index at a level is a number in mixed radix over the column, the first axis
/// most significant; an axis' coordinate is the number of its digits over all levels.
[[nodiscard]] std::vector<int> coordinates(Matrix const& placement, Hierarchy const& hierarchy, int device);

/// Devices that reduce with each other: equal in the coordinates of all other axes. A group is in the order of the
/// reduced digits, level by level, as a program counts its devices.
[[nodiscard]] std::vector<std::vector<int>> reduction_groups(Matrix const& placement, Hierarchy const& hierarchy,
                                                             std::vector<int> const& axes);

/// The levels that a reduction spans: where the axes are split, the product of their factors.
struct Factor {
    int level = 0;
    int size = 1; ///< more than 1

    bool operator==(Factor const&) const = default;
};
[[nodiscard]] std::vector<Factor> factors(Matrix const& placement, std::vector<int> const& axes);

} // namespace espalier::reduction
