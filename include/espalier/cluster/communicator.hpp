#pragma once

#include "espalier/base/bytes.hpp"
#include "espalier/base/ids.hpp"
#include "espalier/base/units.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace espalier::cluster {

struct Incoming {
    base::Rank from;
    base::Bytes bytes;
};

/// How ranks reach each other. One thread per rank uses it, the one that made it. During a search only send and receive
/// are called: nothing in them waits for another rank, so a dead rank cannot hang anybody.
class Communicator {
public:
    virtual ~Communicator() = default;
    [[nodiscard]] virtual base::Rank rank() const = 0;
    [[nodiscard]] virtual int size() const = 0;
    /// Hosts of all ranks, known on every rank.
    [[nodiscard]] virtual std::vector<std::string> const& hosts() const = 0;
    /// Ranks on this host that share this rank's cores, itself included.
    [[nodiscard]] virtual int ranks_sharing_cores() const = 0;
    /// Collective, at start-up only: rank 0's bytes reach everybody.
    [[nodiscard]] virtual base::Bytes broadcast(base::Bytes bytes) = 0;

    /// Returns at once; the bytes are on their way.
    virtual void send(base::Rank to, base::Bytes bytes) = 0;
    /// The next message if one has arrived. Messages of one sender keep their order.
    [[nodiscard]] virtual std::optional<Incoming> receive() = 0;

    /// Collective: everybody is well and has said everything. Ends this process, on rank 0 all of them, with this code
    /// if somebody does not come: a rank may die at the very end.
    virtual void finish(int exit_code) = 0;
    /// Ends all ranks, dead ones or not, with this code. Not collective.
    [[noreturn]] virtual void abort(int exit_code) = 0;
};

/// One process without others.
[[nodiscard]] std::unique_ptr<Communicator> make_alone();
/// N ranks in one process, one for each thread that takes one: the whole cluster layer without MPI, for tests and
/// sanitizers. (Thousands of ranks in virtual time: see simulation.hpp.)
[[nodiscard]] std::vector<std::unique_ptr<Communicator>> make_in_process(int ranks);
/// MPI if this process was started by an MPI launcher, else alone. Throws InputError if the launcher started several
/// processes that cannot find each other. Collective.
///
/// With MPI this process has a deadline, `patience()` from now, until its search has begun: for rank 0 when it first
/// looks for messages, for the others when the first one has come. Past it the process says so and ends with code 1.
[[nodiscard]] std::unique_ptr<Communicator> make_communicator(std::function<base::Nanoseconds()> const& patience);

/// `MPICH 4.0.2`: built against, and running.
struct MpiVersion {
    std::string built;
    std::string running;
};
[[nodiscard]] MpiVersion mpi_version();

} // namespace espalier::cluster
