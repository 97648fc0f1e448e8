#pragma once

#include "espalier/cluster/watchdog.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace espalier::cluster {

/// MPI in this process, from its start to its end: nobody else initialises, finalises or aborts it. At most one per
/// process; the thread that makes it is the only one that may call MPI. Its destructor does nothing, because ending MPI
/// after a fault would hang: say finalise() or abort().
class MpiSession {
public:
    enum class Threads : std::uint8_t { none, beside }; ///< whether there are others beside the one that calls MPI

    /// Ends the process if has_begun() is not said before `patience` is over. Throws SystemError if MPI cannot have
    /// such threads.
    MpiSession(std::chrono::nanoseconds patience, Threads threads);
    MpiSession(MpiSession const&) = delete;
    MpiSession& operator=(MpiSession const&) = delete;

    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return size_; }
    /// Collective: the names of all ranks' hosts. Throws SystemError if a rank is lost.
    [[nodiscard]] std::vector<std::string> gather_hosts() const;
    /// The ranks have found each other and know what to do.
    void has_begun() { start_.reset(); }
    /// Collective. Communicators must be free.
    void finalise();
    /// Ends all ranks at once.
    [[noreturn]] void abort(int exit_code) const;

private:
    std::optional<Watchdog> start_;
    int rank_ = 0;
    int size_ = 1;
};

} // namespace espalier::cluster
