#include "espalier/base/error.hpp"
#include "espalier/base/hash.hpp"
#include "espalier/base/system.hpp"
#include "espalier/cluster/communicator.hpp"

#include <fmt/core.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <list>

namespace espalier::cluster {
namespace {

constexpr int message_tag = 1;

/// MPI, initialised and finalised by this object; FUNNELED: the thread that makes it is the only one that calls it.
class MpiCommunicator final : public Communicator {
public:
    MpiCommunicator() {
        // UCX would fetch large messages out of the memory of the sender, and ends this process if that was killed
        setenv("UCX_RNDV_THRESH", "inf", 0);
        int provided = 0;
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
        if (provided < MPI_THREAD_FUNNELED)
            throw base::SystemError("this MPI library supports no threads beside the one that calls it");
        MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
        MPI_Comm_rank(comm_, &rank_);
        MPI_Comm_size(comm_, &size_);
        gather_hosts();
        count_neighbours();
    }
    ~MpiCommunicator() override = default; // finish() or abort() end MPI: a destructor after a fault would hang

    [[nodiscard]] base::Rank rank() const override { return base::Rank{rank_}; }
    [[nodiscard]] int size() const override { return size_; }
    [[nodiscard]] std::vector<std::string> const& hosts() const override { return hosts_; }
    [[nodiscard]] int ranks_sharing_cores() const override { return ranks_sharing_cores_; }

    [[nodiscard]] base::Bytes broadcast(base::Bytes bytes) override {
        auto size = static_cast<std::uint64_t>(bytes.size());
        MPI_Bcast(&size, 1, MPI_UINT64_T, 0, comm_);
        bytes.resize(size);
        MPI_Bcast(bytes.data(), static_cast<int>(size), MPI_BYTE, 0, comm_);
        return bytes;
    }
    void send(base::Rank to, base::Bytes bytes) override {
        forget_sent();
        auto& sending = in_flight_.emplace_back();
        sending.bytes = std::move(bytes);
        MPI_Isend(sending.bytes.data(), static_cast<int>(sending.bytes.size()), MPI_BYTE, to.value, message_tag, comm_,
                  &sending.request);
    }
    /// Never waits for the rest of a message: a large one whose sender was killed would never come.
    [[nodiscard]] std::optional<Incoming> receive() override {
        start_receives();
        std::vector<int> waiting; // a later message of such a rank must not overtake
        for (auto at = arriving_.begin(); at != arriving_.end(); ++at) {
            if (std::ranges::count(waiting, at->incoming.from.value)) continue;
            int is_done = 0;
            MPI_Test(&at->request, &is_done, MPI_STATUS_IGNORE);
            if (is_done == 0) {
                waiting.push_back(at->incoming.from.value);
                continue;
            }
            auto incoming = std::move(at->incoming);
            arriving_.erase(at);
            return incoming;
        }
        return std::nullopt;
    }
    void finish() override {
        for (auto& sending : in_flight_) MPI_Wait(&sending.request, MPI_STATUS_IGNORE);
        in_flight_.clear();
        MPI_Comm_free(&comm_);
        MPI_Finalize();
    }
    [[noreturn]] void abort(int exit_code) override {
        MPI_Abort(MPI_COMM_WORLD,
                  exit_code); // of another communicator MPICH first waits for its members, dead ones too
        std::_Exit(exit_code);
    }

private:
    struct Sending {
        base::Bytes bytes;
        MPI_Request request = MPI_REQUEST_NULL;
    };
    static constexpr std::size_t host_length = 64;

    /// Of a message whose beginning has come.
    struct Arriving {
        Incoming incoming;
        MPI_Request request = MPI_REQUEST_NULL;
    };
    void start_receives() {
        for (;;) {
            int has_message = 0, size = 0;
            MPI_Message message;
            MPI_Status status;
            MPI_Improbe(MPI_ANY_SOURCE, message_tag, comm_, &has_message, &message, &status);
            if (has_message == 0) return;
            MPI_Get_count(&status, MPI_BYTE, &size);
            auto& arriving = arriving_.emplace_back();
            arriving.incoming = {base::Rank{status.MPI_SOURCE}, base::Bytes(static_cast<std::size_t>(size))};
            MPI_Imrecv(arriving.incoming.bytes.data(), size, MPI_BYTE, &message, &arriving.request);
        }
    }
    void forget_sent() {
        in_flight_.remove_if([](Sending& sending) {
            int is_done = 0;
            MPI_Test(&sending.request, &is_done, MPI_STATUS_IGNORE);
            return is_done != 0;
        });
    }
    void gather_hosts() {
        std::array<char, host_length> own{};
        base::host_name().copy(own.data(), host_length - 1);
        std::vector<char> all(host_length * static_cast<std::size_t>(size_));
        MPI_Allgather(own.data(), host_length, MPI_CHAR, all.data(), host_length, MPI_CHAR, comm_);
        for (std::size_t r = 0; r < static_cast<std::size_t>(size_); ++r)
            hosts_.emplace_back(all.data() + r * host_length);
    }
    /// Ranks with the same host and the same affinity mask share their cores.
    void count_neighbours() {
        auto const own = base::hash_text(base::host_name() + "/" + base::affinity_text());
        std::vector<std::uint64_t> all(static_cast<std::size_t>(size_));
        MPI_Allgather(&own, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, comm_);
        ranks_sharing_cores_ = static_cast<int>(std::count(all.begin(), all.end(), own));
    }

    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_ = 0;
    int size_ = 1;
    int ranks_sharing_cores_ = 1;
    std::vector<std::string> hosts_;
    std::list<Sending> in_flight_;
    std::list<Arriving> arriving_;
};

bool has_variable(char const* name) { return std::getenv(name) != nullptr; }
int number_in(char const* name) { return has_variable(name) ? std::atoi(std::getenv(name)) : 0; }

bool is_started_by_mpi() { return has_variable("PMI_RANK") || has_variable("PMI_FD") || has_variable("PMIX_RANK"); }

/// A launcher of another kind starts N processes, each of which would believe to be alone.
void refuse_singletons() {
    auto const slurm = has_variable("SLURM_STEP_ID") ? number_in("SLURM_STEP_NUM_TASKS") : 0;
    auto const open_mpi = number_in("OMPI_COMM_WORLD_SIZE");
    if (slurm > 1)
        throw base::InputError("srun started {} processes that do not find each other (each would search everything): "
                               "use `srun --mpi=pmi2`",
                               slurm);
    if (open_mpi > 1)
        throw base::InputError(
            "Open MPI's mpirun started {} processes, but this espalier speaks MPICH (each would search "
            "everything): start it with MPICH's mpiexec (mpiexec.mpich)",
            open_mpi);
}

} // namespace

std::unique_ptr<Communicator> make_communicator() {
    if (is_started_by_mpi()) return std::make_unique<MpiCommunicator>();
    refuse_singletons();
    return make_alone();
}

MpiVersion mpi_version() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    MPI_Get_library_version(text, &length);
    std::string running(text, static_cast<std::size_t>(length));
    running = running.substr(0, running.find('\n'));
    std::replace(running.begin(), running.end(), '\t', ' ');
    return {fmt::format("MPICH {}, MPI {}.{}", MPICH_VERSION, MPI_VERSION, MPI_SUBVERSION), running};
}

} // namespace espalier::cluster
