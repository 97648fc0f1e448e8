#pragma once

#include "espalier/cluster/collectives/execution.hpp"
#include "espalier/cluster/mpi_session.hpp"

#include <mpi.h>

#include <map>

namespace espalier::cluster::collectives {

/// Communicators are made once for each list of ranks and kept until MPI ends.
struct World::Data {
    explicit Data(std::chrono::nanoseconds patience) : mpi(patience, MpiSession::Threads::none) {}

    MpiSession mpi;
    int rank = mpi.rank();
    std::vector<std::string> hosts = mpi.gather_hosts();
    std::map<std::vector<int>, MPI_Comm> made; ///< MPI_COMM_NULL where this rank is not a member

    [[nodiscard]] MPI_Comm of(std::vector<int> const& members) const { return made.at(members); }
};

/// Integers are added as unsigned ones, which is the same but defined modulo 2^32.
[[nodiscard]] MPI_Datatype datatype_of(Element element);

} // namespace espalier::cluster::collectives
