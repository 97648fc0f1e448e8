#pragma once

#include "espalier/cluster/collectives/execution.hpp"
#include "espalier/cluster/watchdog.hpp"

#include <mpi.h>

#include <map>
#include <optional>

namespace espalier::cluster::collectives {

/// Communicators are made once for each list of ranks and kept until MPI ends.
struct World::Data {
    int rank = 0;
    int size = 1;
    std::optional<Watchdog> start; ///< until rank 0 has told the others what to do
    std::vector<std::string> hosts;
    std::map<std::vector<int>, MPI_Comm> made; ///< MPI_COMM_NULL where this rank is no member

    [[nodiscard]] MPI_Comm of(std::vector<int> const& members) const { return made.at(members); }
};

/// Integers are added as unsigned ones, which is the same but defined modulo 2^32.
[[nodiscard]] MPI_Datatype datatype_of(Element element);

} // namespace espalier::cluster::collectives
