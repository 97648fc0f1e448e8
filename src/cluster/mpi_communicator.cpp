#include "mpi_errors.hpp"

#include "espalier/base/hash.hpp"
#include "espalier/base/log.hpp"
#include "espalier/base/system.hpp"
#include "espalier/cluster/communicator.hpp"
#include "espalier/cluster/mpi_session.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <list>
#include <thread>

#ifndef MPICH_VERSION
#error                                                                                                                 \
    "Espalier needs MPICH: another MPI is not started, signalled or survived in the same way. Set MPI_C_COMPILER to MPICH's mpicc."
#endif

namespace espalier::cluster {
namespace {

constexpr int message_tag = 1;

bool has_variable(char const* name) { return std::getenv(name) != nullptr; }
int number_in(char const* name) { return has_variable(name) ? std::atoi(std::getenv(name)) : 0; }

constexpr auto whole = "inf";

/// UCX would fetch messages above a size out of the memory of the sender, and end the receiver if the sender was killed
/// meanwhile. With a threshold that no message reaches it does not. A site's own setting stays, with a warning.
void send_large_messages_whole() { setenv("UCX_RNDV_THRESH", whole, 0); }

void warn_of_fetched_messages() {
    for (auto const* name : {"UCX_RNDV_THRESH", "UCX_RNDV_INTRA_THRESH", "UCX_RNDV_INTER_THRESH"}) {
        if (!has_variable(name) || std::string_view(std::getenv(name)) == whole) continue;
        base::log::warn("{}={}: large messages are fetched out of the memory of their sender, and rank 0 ends if a "
                        "rank is killed meanwhile: unset it, or set it to {}",
                        name, std::getenv(name), whole);
    }
}

/// The thread that makes it is the only one that calls MPI.
class MpiCommunicator final : public Communicator {
public:
    explicit MpiCommunicator(base::Nanoseconds patience)
        : patience_(patience), mpi_(patience, MpiSession::Threads::beside) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); // a message to a dead rank must not end the others
        expect_success(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "meet");
        if (rank_ == 0) warn_of_fetched_messages();
        hosts_ = mpi_.gather_hosts();
        count_neighbours();
    }
    ~MpiCommunicator() override = default; // finish() or abort() end MPI: a destructor after a fault would hang

    [[nodiscard]] base::Rank rank() const override { return base::Rank{rank_}; }
    [[nodiscard]] int size() const override { return size_; }
    [[nodiscard]] std::vector<std::string> const& hosts() const override { return hosts_; }
    [[nodiscard]] int ranks_sharing_cores() const override { return ranks_sharing_cores_; }

    [[nodiscard]] base::Bytes broadcast(base::Bytes bytes) override {
        auto size = static_cast<std::uint64_t>(bytes.size());
        expect_success(MPI_Bcast(&size, 1, MPI_UINT64_T, 0, comm_), "share the experiment");
        bytes.resize(size);
        expect_success(MPI_Bcast(bytes.data(), static_cast<int>(size), MPI_BYTE, 0, comm_), "share the experiment");
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
        if (rank_ == 0 || !arriving_.empty()) mpi_.has_begun();
        std::vector<int> waiting; // a later message of such a rank must not overtake
        for (auto at = arriving_.begin(); at != arriving_.end(); ++at) {
            if (std::ranges::count(waiting, at->incoming.from.value)) continue;
            if (!has_arrived(*at)) {
                waiting.push_back(at->incoming.from.value);
                continue;
            }
            auto incoming = std::move(at->incoming);
            arriving_.erase(at);
            return incoming;
        }
        return std::nullopt;
    }
    void finish(int exit_code) override {
        mpi_.has_begun();
        if (!everybody_ends()) give_up(exit_code);
        Watchdog const end({end_patience(), "", exit_code}); // there was nothing left to do for anybody
        MPI_Comm_free(&comm_);
        mpi_.finalise();
    }
    [[noreturn]] void abort(int exit_code) override { mpi_.abort(exit_code); }

private:
    struct Sending {
        base::Bytes bytes;
        MPI_Request request = MPI_REQUEST_NULL;
    };
    using Clock = std::chrono::steady_clock;

    /// A message whose beginning has arrived.
    struct Arriving {
        Incoming incoming;
        MPI_Request request = MPI_REQUEST_NULL;
        bool is_broken = false; ///< its end will not come, and nothing that its sender said later may be believed
    };
    static bool has_arrived(Arriving& arriving) {
        int is_done = 0;
        if (!arriving.is_broken)
            arriving.is_broken = MPI_Test(&arriving.request, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS;
        return is_done != 0 && !arriving.is_broken;
    }
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
            arriving.is_broken =
                MPI_Imrecv(arriving.incoming.bytes.data(), size, MPI_BYTE, &message, &arriving.request) != MPI_SUCCESS;
        }
    }
    void forget_sent() {
        in_flight_.remove_if([](Sending& sending) {
            int is_done = 0;
            MPI_Test(&sending.request, &is_done, MPI_STATUS_IGNORE);
            return is_done != 0;
        });
    }
    [[nodiscard]] base::Nanoseconds end_patience() const {
        return std::min<base::Nanoseconds>(patience_, std::chrono::seconds(10));
    }
    /// False if a rank has not come here after a while. Rank 0 comes last, when all is written, so it waits
    /// briefly; the others wait for what it writes.
    bool everybody_ends() {
        auto const deadline = Clock::now() + (rank_ == 0 ? end_patience() : patience_);
        return meet(deadline) && settle() && meet(deadline) && settle();
    }
    bool meet(Clock::time_point deadline) {
        MPI_Request barrier = MPI_REQUEST_NULL;
        MPI_Ibarrier(comm_, &barrier);
        int is_done = 0;
        while (is_done == 0 || !in_flight_.empty()) {
            if (Clock::now() > deadline) return false;
            forget_sent();
            MPI_Test(&barrier, &is_done, MPI_STATUS_IGNORE);
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
        return true;
    }
    /// Over TCP, MPICH 4.0.2 with UCX does not end if somebody still needs an answer (to a connection that the barrier
    /// made, say) of one who has stopped listening: everybody listens a little longer than needed.
    bool settle() {
        for (auto const end = Clock::now() + std::chrono::milliseconds(5); Clock::now() < end;) {
            int has_message = 0;
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &has_message, MPI_STATUS_IGNORE);
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
        return true;
    }
    [[noreturn]] void give_up(int exit_code) {
        if (rank_ == 0) abort(exit_code);
        base::log::error("rank 0 has not ended within {} (cluster.start; it may have been killed): this rank ends; "
                         "`espalier show RUN --status` says how far the run is",
                         base::format_duration(patience_));
        std::_Exit(static_cast<int>(base::ExitCode::failure));
    }
    /// Ranks with the same host and the same affinity mask share their cores.
    void count_neighbours() {
        auto const own = base::hash_text(base::host_name() + "/" + base::affinity_text());
        std::vector<std::uint64_t> all(static_cast<std::size_t>(size_));
        expect_success(MPI_Allgather(&own, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, comm_), "count their cores");
        ranks_sharing_cores_ = static_cast<int>(std::count(all.begin(), all.end(), own));
    }

    base::Nanoseconds patience_;
    MpiSession mpi_;
    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_ = mpi_.rank();
    int size_ = mpi_.size();
    int ranks_sharing_cores_ = 1;
    std::vector<std::string> hosts_;
    std::list<Sending> in_flight_;
    std::list<Arriving> arriving_;
};

bool is_started_by_mpi() { return has_variable("PMI_RANK") || has_variable("PMI_FD") || has_variable("PMIX_RANK"); }

/// A launcher of another kind starts N processes, each of which would believe that it is alone.
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

std::unique_ptr<Communicator> make_communicator(std::function<base::Nanoseconds()> const& patience) {
    if (is_started_by_mpi()) {
        send_large_messages_whole();
        return std::make_unique<MpiCommunicator>(patience());
    }
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
