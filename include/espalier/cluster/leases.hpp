#pragma once

#include "espalier/cluster/messages.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace espalier::cluster {

/// A member and how many ranks it stands for: 1, or a whole group.
struct MemberInfo {
    base::Rank rank;
    int ranks = 1;
};

/// What one member holds, and what it last said about itself.
struct Lease {
    enum class State : std::uint8_t { awaited, active, lost, gone };
    struct SentBatch {
        std::uint64_t number;
        search::PackedNodes roots;
    };

    base::Rank rank;
    int ranks = 1;
    State state = State::awaited;
    std::uint32_t epoch = 1;
    std::int64_t heard_ns = 0;
    search::PackedNodes kept;         ///< at its last commit
    std::deque<SentBatch> unreceived; ///< by then; the oldest first
    std::uint64_t batches = 0;        ///< sent in this epoch
    Pulse pulse;                      ///< the last one
    bool is_fresh = true;             ///< has committed since it was last told to
    bool is_stopped = false;          ///< has sent its last commit
    std::string host;

    [[nodiscard]] bool is_active() const { return state == State::active; }
    [[nodiscard]] bool is_lost() const { return state == State::lost; }
    [[nodiscard]] bool is_empty() const { return kept.empty() && unreceived.empty(); }
};

/// Who holds which unfinished work, in which epoch, and who is still there. Members are numbered from 0.
///
/// Invariant: what a member was lent is in its lease until a commit of the same epoch replaces it or the lease is taken
/// back, which begins a new epoch. So a subtree is never in two leases, and nothing of an old epoch changes one.
/// Decides nothing about work and sends nothing; only the communicating thread uses it.
class Leases {
public:
    Leases(std::vector<MemberInfo> const& members, std::int64_t lease_ns, std::int64_t now_ns);

    [[nodiscard]] std::size_t size() const { return leases_.size(); }
    [[nodiscard]] Lease const& operator[](std::size_t member) const { return leases_[member]; }
    [[nodiscard]] auto begin() const { return leases_.begin(); }
    [[nodiscard]] auto end() const { return leases_.end(); }
    [[nodiscard]] std::optional<std::size_t> find(base::Rank rank) const;

    void greet(std::size_t member, Hello const& hello, std::int64_t now_ns);
    /// `returned`: it was lost, has dropped its old work and is back. `outdated`: what it says is of an old epoch.
    enum class Standing : std::uint8_t { current, returned, outdated };
    /// A sign of life, whatever epoch it speaks of.
    [[nodiscard]] Standing hear(std::size_t member, std::uint32_t epoch, std::int64_t now_ns);
    void note(std::size_t member, Pulse const& pulse) { leases_[member].pulse = pulse; }
    /// Number of the batch.
    [[nodiscard]] std::uint64_t lend(std::size_t member, search::PackedNodes roots);
    /// Takes what the member keeps out of its commit. Batches that it had not received then stay in the lease.
    void renew(std::size_t member, Commit& commit);
    void expect_commit(std::size_t member) { leases_[member].is_fresh = false; }
    /// It has said farewell.
    void dismiss(std::size_t member) { leases_[member].state = Lease::State::gone; }

    /// Members that have been silent for longer than a lease, or three if they never said hello. Sets the next check.
    [[nodiscard]] std::vector<std::size_t> expired(std::int64_t now_ns);
    [[nodiscard]] std::int64_t next_check_ns() const { return next_check_ns_; }
    /// Its time is over: takes back all that it holds. Its CPU time was spent nevertheless.
    [[nodiscard]] search::PackedNodes take_back(std::size_t member);
    /// Somebody else has what it holds: it starts anew.
    void drop(std::size_t member);

    void copy_to(search::PackedNodes& open) const;
    [[nodiscard]] int lost_ranks() const; ///< with those that groups have lost
    [[nodiscard]] double cpu_seconds_of_lost() const;
    [[nodiscard]] bool is_complete_roll() const; ///< every member has said hello or is lost
    [[nodiscard]] bool is_fresh() const;
    [[nodiscard]] bool is_stopped() const;
    [[nodiscard]] bool is_deserted() const;

private:
    void begin_epoch(Lease& lease);

    std::vector<Lease> leases_;
    std::map<std::int32_t, std::size_t> index_; ///< rank -> member
    std::int64_t lease_ns_;
    std::int64_t next_check_ns_;
};

} // namespace espalier::cluster
