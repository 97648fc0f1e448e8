// Preloaded into the ranks of a test: the rank ESPALIER_TEST_DIES gets the signal ESPALIER_TEST_SIGNAL (SIGKILL) as it
// enters the MPI function ESPALIER_TEST_DIES_IN, at moments of the start and the end that a signal from outside would
// hit by luck.

#include <mpi.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace {

bool is(char const* variable, char const* value) {
    auto const* found = std::getenv(variable);
    return found != nullptr && value != nullptr && std::strcmp(found, value) == 0;
}

void die_in(char const* function) {
    auto const* number = std::getenv("ESPALIER_TEST_SIGNAL");
    if (is("ESPALIER_TEST_DIES_IN", function) && is("ESPALIER_TEST_DIES", std::getenv("PMI_RANK")))
        kill(getpid(), number != nullptr ? std::atoi(number) : SIGKILL);
}

} // namespace

extern "C" {

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    die_in("MPI_Init_thread");
    return PMPI_Init_thread(argc, argv, required, provided);
}
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* copy) {
    die_in("MPI_Comm_dup");
    return PMPI_Comm_dup(comm, copy);
}
int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    die_in("MPI_Bcast");
    return PMPI_Bcast(buffer, count, type, root, comm);
}
int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
    die_in("MPI_Ibarrier");
    return PMPI_Ibarrier(comm, request);
}
int MPI_Finalize() {
    die_in("MPI_Finalize");
    return PMPI_Finalize();
}
}
