#include "world.hpp"

#include "espalier/base/contract.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace espalier::cluster::collectives {
namespace {

/// Over TCP, MPICH 4.0.2 with UCX does not end if the acknowledgement of a large message is still on its way when its
/// receiver has stopped listening: everybody listens a little longer than needed.
void settle() {
    for (int round = 0; round < 2; ++round) {
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < 20; ++i) {
            int has_message = 0;
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &has_message, MPI_STATUS_IGNORE);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
}

} // namespace

MPI_Datatype datatype_of(Element element) {
    return element == Element::f32 ? MPI_FLOAT : element == Element::f64 ? MPI_DOUBLE : MPI_UINT32_T;
}

World::World(std::chrono::nanoseconds patience) {
    int provided = 0;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided); // control variables, to force algorithms
    data_ = std::make_unique<Data>(patience);
}

World::~World() {
    for (auto& [_, comm] : data_->made)
        if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
    if (size() > 1) settle();
    data_->mpi.finalise();
    MPI_T_finalize();
}

int World::rank() const { return data_->rank; }
int World::size() const { return data_->mpi.size(); }
std::vector<std::string> const& World::hosts() const { return data_->hosts; }

std::string World::broadcast(std::string text) const {
    auto size = static_cast<std::uint64_t>(text.size());
    MPI_Bcast(&size, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    text.resize(size);
    MPI_Bcast(text.data(), static_cast<int>(size), MPI_CHAR, 0, MPI_COMM_WORLD);
    data_->mpi.has_begun();
    return text;
}

void World::make_communicators(std::vector<std::vector<int>> const& groups) {
    int color = MPI_UNDEFINED, key = 0;
    std::vector<std::vector<int>> fresh;
    for (auto const& members : groups) {
        if (data_->made.contains(members)) continue;
        auto const found = std::ranges::find(members, data_->rank);
        if (found != members.end()) {
            ESP_EXPECT(color == MPI_UNDEFINED);
            color = static_cast<int>(fresh.size());
            key = static_cast<int>(found - members.begin());
        }
        fresh.push_back(members);
    }
    if (fresh.empty()) return; // on all ranks, because all know all groups
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, color, key, &comm);
    for (std::size_t i = 0; i < fresh.size(); ++i)
        data_->made[fresh[i]] = static_cast<int>(i) == color ? comm : MPI_COMM_NULL;
}

double World::time(std::function<void()> const& work) const {
    MPI_Barrier(MPI_COMM_WORLD);
    auto const begin = MPI_Wtime();
    work();
    double const own = MPI_Wtime() - begin;
    double slowest = 0;
    MPI_Reduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return slowest;
}

std::uint64_t World::sum(std::uint64_t own) const {
    std::uint64_t total = 0;
    MPI_Allreduce(&own, &total, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return total;
}

void World::abort(int code) const { data_->mpi.abort(code); }

} // namespace espalier::cluster::collectives
