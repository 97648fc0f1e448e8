#pragma once

#include "espalier/cluster/collectives/schedule.hpp"

#include <chrono>
#include <cstddef>
#include <memory>

namespace espalier::cluster::collectives {

/// MPI while this object lives, with the communicators of groups. One thread uses it. At most one per process.
class World {
public:
    /// Ends the process if the ranks have not found each other, and heard from rank 0 what to do, after this time.
    explicit World(std::chrono::nanoseconds patience);
    ~World();
    World(World const&) = delete;
    World& operator=(World const&) = delete;

    [[nodiscard]] int rank() const;
    [[nodiscard]] int size() const;
    [[nodiscard]] std::vector<std::string> const& hosts() const; ///< of all ranks
    /// Collective: rank 0's text.
    [[nodiscard]] std::string broadcast(std::string text) const;
    /// Collective: makes the communicators of these groups that are not there yet; each must be free of common ranks.
    void make_communicators(std::vector<std::vector<int>> const& groups);
    /// Collective: seconds of the slowest rank, known on rank 0; all start together.
    [[nodiscard]] double time(std::function<void()> const& work) const;
    /// Collective: the sum over all ranks, known on all.
    [[nodiscard]] std::uint64_t sum(std::uint64_t own) const;
    /// Ends all ranks at once.
    [[noreturn]] void abort(int code) const;

    struct Data;
    [[nodiscard]] Data& data() const { return *data_; }

private:
    std::unique_ptr<Data> data_;
};

/// A plan for payloads of one size on this rank.
class Execution {
public:
    /// Collective: makes the communicators. Throws InputError if the plan cannot be done or is too large for MPI.
    Execution(World& world, Plan const& plan, std::size_t elements, Element element);

    [[nodiscard]] Layout const& layout() const { return layout_; }
    [[nodiscard]] Schedule const& schedule() const { return schedule_; }
    [[nodiscard]] std::size_t data_bytes() const { return layout_.padded() * size_of(element_); }
    [[nodiscard]] std::size_t scratch_bytes() const { return room_ * static_cast<std::size_t>(layout_.segments); }
    /// Collective: in place. Chunks that a rank does not hold in the end are left as whatever they became. A plan of
    /// one segment uses blocking collectives, of several nonblocking ones.
    void run(std::byte* data, std::byte* scratch) const;

private:
    class Flight;

    World& world_;
    Element element_;
    Schedule schedule_;
    Layout layout_;
    std::vector<Operation> order_;
    std::size_t send_room_ = 0; ///< bytes of a segment's packed chunks, for sending
    std::size_t room_ = 0;      ///< and for sending and receiving
};

/// Throws InputError if MPI cannot count so many elements.
void check_size(Plan const& plan, std::size_t elements);

/// Throws InputError if the plans' devices are not exactly these ranks.
void check_ranks(std::vector<Plan> const& plans, int ranks);

/// MPI's own collective for a plan's request on its reduction groups.
class Native {
public:
    Native(World& world, Plan const& plan, std::size_t elements, Element element);
    [[nodiscard]] std::size_t data_bytes() const { return length_ * members_.size() * size_of(element_); }
    [[nodiscard]] std::size_t scratch_bytes() const { return length_ * size_of(element_); }
    /// Collective. ReduceScatter leaves its result in the scratch.
    void run(std::byte* data, std::byte* scratch) const;

private:
    World& world_;
    Element element_;
    Request request_;
    std::size_t elements_;
    std::size_t length_; ///< elements of a device's share, padded
    std::vector<int> members_;
};

/// The number that a device contributes to an element, as stored.
void fill(std::byte* data, std::size_t elements, Element element, std::uint64_t seed);

/// A way to make MPI use another algorithm for a request.
struct Forced {
    struct Setting {
        std::string variable;
        int value = 0;
    };
    std::string name; ///< empty: MPI's own choice
    std::vector<Setting> settings;
};
/// What this MPI library can be forced to while it runs, its own choice first. Collective settings: all ranks the same.
[[nodiscard]] std::vector<Forced> forced_algorithms(Request request);
/// Forces an algorithm while this object lives.
class Forcing {
public:
    explicit Forcing(Forced const& forced);
    ~Forcing();
    Forcing(Forcing const&) = delete;
    Forcing& operator=(Forcing const&) = delete;

private:
    std::vector<Forced::Setting> before_;
};

/// Collective: executes the plan on fresh numbers and compares every element that a rank must have with MPI_Allreduce
/// (of an AllGather: MPI_Allgather). Numbers are whole and small, so that sums of floats are exact. Returns how many
/// were wrong on all ranks.
[[nodiscard]] std::uint64_t count_wrong(World& world, Plan const& plan, std::size_t elements, Element element,
                                        std::uint64_t seed);
/// The same for MPI's own collective, forced.
[[nodiscard]] std::uint64_t count_wrong(World& world, Plan const& plan, std::size_t elements, Element element,
                                        std::uint64_t seed, Forced const& forced);

} // namespace espalier::cluster::collectives
