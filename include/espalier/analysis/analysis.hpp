#pragma once

#include "espalier/analysis/trace_source.hpp"

#include <array>
#include <optional>

/// Where the time of a run went. All times are in seconds; all efficiencies are between 0 and 1.
namespace espalier::analysis {

/// What a working thread did, all of it: the sum is the runtime.
enum class Activity : std::uint8_t { expand, query, verify, wait, other };
inline constexpr std::array<std::string_view, 5> activity_names{"expand", "query", "verify", "wait", "other"};

struct ThreadTimes {
    int thread = 0;                                 ///< working threads count from 1
    std::array<double, activity_names.size()> in{}; ///< by Activity; expand is without the queries in it
    double useful = 0;                              ///< CPU time on nodes: at most busy()
    std::uint64_t chunks = 0, nodes = 0, prunes = 0, queries = 0;

    [[nodiscard]] double operator[](Activity activity) const { return in[static_cast<std::size_t>(activity)]; }
    /// Working on nodes, with or without a core.
    [[nodiscard]] double busy() const {
        return (*this)[Activity::expand] + (*this)[Activity::query] + (*this)[Activity::verify];
    }
};

/// The communicating thread of a rank.
struct Communication {
    double sending = 0, receiving = 0, committing = 0, writing = 0;
    std::uint64_t messages_sent = 0, messages_received = 0, bytes_sent = 0, bytes_received = 0, bytes_written = 0;
};

struct RankTimes {
    int rank = 0;
    std::string host;
    std::vector<ThreadTimes> threads;
    Communication communication;
    double working = 0; ///< at least one of its threads was busy
    double serial = 0;  ///< none was, but its communicating thread committed or wrote; of a run on one rank: none was
    std::vector<store::OutcomeTime> outcomes; ///< of the whole run, whatever the window

    [[nodiscard]] double in(Activity activity) const; ///< mean of its threads
    [[nodiscard]] double useful() const;              ///< mean of its threads
    [[nodiscard]] double busy() const;                ///< mean of its threads
    [[nodiscard]] double outside_mpi() const { return working + serial; }
};

/// POP's metrics, where a thread is useful while it is busy with nodes. The products and sums hold exactly. (OpenMP's
/// load balance, being a quotient, may exceed 1.)
struct Efficiency {
    double parallel = 0;                           ///< = load_balance x communication = mpi x openmp
    double load_balance = 0;                       ///< of useful time over all threads
    double communication = 0;                      ///< = serialisation x transfer
    std::optional<double> serialisation, transfer; ///< need a replay of the messages; see Analysis::remarks if not
    double mpi = 0, mpi_load_balance = 0, mpi_communication = 0;          ///< mpi = load balance x communication
    double openmp = 0, openmp_load_balance = 0, openmp_communication = 0; ///< openmp = load balance x communication
    /// Additive: 1 - parallel = (1 - process) + (1 - thread), and so on downwards.
    double process = 0, process_load_balance = 0, process_communication = 0;
    double thread = 0, openmp_region = 0, serial_region = 0;
    /// Not part of these: how much of their busy time the threads had a core.
    double core_share = 1;
};

/// Pieces of the tree that one thread worked on without handing them over.
struct Subtree {
    int rank = 0, thread = 0;
    double start = 0, end = 0; ///< of its first and last chunk
    double useful = 0;
    std::uint64_t chunks = 0, nodes = 0;
    int depth = 0; ///< of its first node
};

/// Subtrees by size, in powers of two of their useful microseconds: whole ones, wherever they were searched.
struct SizeClass {
    double from_us = 0;
    std::uint64_t subtrees = 0;
    double useful = 0; ///< of all of them; nested ones count again
};

/// Solver queries during which so many threads of the rank were in one, on average.
struct Contention {
    int threads = 0;
    std::uint64_t queries = 0;
    double seconds = 0;     ///< how long they took, together
    double cpu_seconds = 0; ///< how long they had a core
};

/// Busy time over time, in equal bins.
struct Timeline {
    double bin = 0;           ///< seconds
    std::vector<double> busy; ///< threads, all ranks
    struct Row {
        int first_rank = 0, last_rank = 0;            ///< several if there are many ranks
        std::vector<float> busy, query, verify, wait; ///< share of its threads' time
    };
    std::vector<Row> rows;
};

struct Analysis {
    double start = 0, runtime = 0; ///< of the window, after the start of the run
    int segment = 0;
    std::uint64_t events = 0, nodes = 0;
    std::vector<RankTimes> ranks;
    Efficiency efficiency;
    std::vector<Subtree> longest; ///< the longest first
    std::vector<SizeClass> sizes;
    std::vector<Contention> contention;
    Timeline timeline;
    std::vector<std::string> hints;   ///< what to do about it, in words, what gains most first
    std::vector<double> hint_gains;   ///< of each: thread seconds that it would gain at most, an estimate
    std::vector<std::string> remarks; ///< what is missing or approximate

    [[nodiscard]] int threads() const;
    [[nodiscard]] double useful() const; ///< of all threads
    [[nodiscard]] double busy() const;   ///< of all threads
};

struct AnalyseOptions {
    Window window;
    std::string policy; ///< of the run (cluster.policy), for the hints; empty: not known
    std::size_t longest = 10;
    std::size_t bins = 512;              ///< of the timeline, at most
    std::size_t rows = 256;              ///< of the timeline, at most
    std::size_t max_chunks = 4u << 20;   ///< more are joined with their neighbours: memory is bounded
    std::size_t max_messages = 8u << 20; ///< more are not replayed
};
/// Streams the shards once. Throws InputError if the window holds nothing.
[[nodiscard]] Analysis analyse(TraceSource& source, AnalyseOptions const& options = {});

[[nodiscard]] base::Json to_json(Analysis const& analysis);

/// Below this core share threads took turns, and no other efficiency means anything.
inline constexpr double least_core_share = 0.85;
[[nodiscard]] inline bool has_cores(Efficiency const& efficiency) { return efficiency.core_share >= least_core_share; }
/// One or two sentences: that there were no cores, and then nothing else; or how busy the threads were and what was
/// lost.
[[nodiscard]] std::string verdict_text(Analysis const& analysis);
/// ` (up to 12.3 thread seconds)`: what a hint would gain; empty if that is not known.
[[nodiscard]] std::string gain_text(Analysis const& analysis, std::size_t hint);
/// `good`, `fair` or `poor`.
[[nodiscard]] std::string_view level_of(double efficiency);

} // namespace espalier::analysis
