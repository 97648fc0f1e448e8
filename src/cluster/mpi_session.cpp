#include "espalier/cluster/mpi_session.hpp"

#include "espalier/base/system.hpp"

#include "mpi_errors.hpp"

#include <array>
#include <cstdlib>

namespace espalier::cluster {

MpiSession::MpiSession(std::chrono::nanoseconds patience, Threads threads)
    : start_(std::in_place, Watchdog::Options{patience, start_message(patience)}) {
    int const wanted = threads == Threads::none ? MPI_THREAD_SINGLE : MPI_THREAD_FUNNELED;
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, wanted, &provided);
    if (provided < wanted)
        throw base::SystemError("this MPI library does not support threads besides the one that calls it");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
}

std::vector<std::string> MpiSession::gather_hosts() const {
    constexpr std::size_t length = 64;
    std::array<char, length> own{};
    base::host_name().copy(own.data(), length - 1);
    std::vector<char> all(length * static_cast<std::size_t>(size_));
    expect_success(MPI_Allgather(own.data(), length, MPI_CHAR, all.data(), length, MPI_CHAR, MPI_COMM_WORLD),
                   "share the names of their hosts");
    std::vector<std::string> hosts;
    for (std::size_t r = 0; r < static_cast<std::size_t>(size_); ++r) hosts.emplace_back(all.data() + r * length);
    return hosts;
}

void MpiSession::finalise() { MPI_Finalize(); }

void MpiSession::abort(int exit_code) const {
    MPI_Abort(MPI_COMM_WORLD, exit_code); // of another communicator MPICH first waits for its members, dead ones too
    std::_Exit(exit_code);
}

} // namespace espalier::cluster
