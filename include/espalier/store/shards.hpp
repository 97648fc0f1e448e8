#pragma once

#include "espalier/search/types.hpp"
#include "espalier/trace/event.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace espalier::store {

/// What identifies a trace shard.
struct ShardInfo {
    std::int32_t rank = 0;
    std::int32_t threads = 0; ///< working threads
    std::string host;
    std::int64_t clock_offset_ns = 0;      ///< add to this rank's steady clock to get rank 0's
    std::int64_t wall_minus_steady_ns = 0; ///< of this rank
    std::int64_t start_ns = 0;             ///< when it began, by its own clock; 0: not recorded
    std::int32_t segment = 0;              ///< of the run, so that a shard in a wrong place is found; 0: not recorded

    bool operator==(ShardInfo const&) const = default;
};

/// The events of one rank: /events, a plain compound table. A writer that is killed at any time leaves complete batches
/// and nothing else. While it is written, and after a kill, the last 4095 events at most are in /tail, and `<file>.log`
/// holds the checksums that follow the data of a closed one. Used by one thread.
class TraceShard {
public:
    /// Throws SystemError if the file cannot be made.
    TraceShard(std::filesystem::path const& file, ShardInfo const& info,
               std::vector<std::string> const& outcome_names = {});
    ~TraceShard();
    TraceShard(TraceShard const&) = delete;
    TraceShard& operator=(TraceShard const&) = delete;

    /// Throws SystemError, e.g. when the disk is full.
    void append(std::span<trace::Event const> events);
    [[nodiscard]] std::uint64_t events() const;
    /// Throws SystemError.
    void set_clock_offset(std::int64_t offset_ns);
    /// CPU time by outcome so far and the samples it comes from, as many as there are names. Throws SystemError.
    void set_outcomes(std::span<std::int64_t const> ns, std::span<std::int64_t const> samples);

private:
    struct File;
    std::unique_ptr<File> file_;
};

/// How long a rank's threads spent on nodes of one kind: those expanded, or pruned for one reason.
struct OutcomeTime {
    std::string name;
    std::int64_t ns = 0;
    std::int64_t samples = -1; ///< that were timed; negative: not recorded

    bool operator==(OutcomeTime const&) const = default;
};

/// Reads a shard batch by batch, in bounded memory. HDF5 never sees a byte of it whose checksum is wrong, and what is
/// out of range is left out and counted. Used by one thread.
class TraceReader {
public:
    /// Throws InputError if the file is missing, damaged, not a shard, of another schema, or says what cannot be true.
    explicit TraceReader(std::filesystem::path const& file);
    ~TraceReader();
    TraceReader(TraceReader&&) noexcept;
    TraceReader& operator=(TraceReader&&) noexcept;

    [[nodiscard]] ShardInfo const& info() const { return info_; }
    [[nodiscard]] std::vector<OutcomeTime> const& outcomes() const { return outcomes_; }
    /// In /events, without a killed or living writer's tail.
    [[nodiscard]] std::uint64_t stored_events() const;
    /// The next events in the order of writing (each thread's own in the order of time), valid until the next call;
    /// none at the end.
    [[nodiscard]] std::span<trace::Event const> next();
    /// At the end: whether it is damaged or some events are out of range, and what was left out.
    [[nodiscard]] std::string const& warning() const { return warning_; }

private:
    struct File;
    void read_next();

    std::unique_ptr<File> file_;
    ShardInfo info_;
    std::vector<OutcomeTime> outcomes_;
    std::string warning_;
};

struct LoadedTrace {
    ShardInfo info;
    std::vector<trace::Event> events;
    std::string warning; ///< says what was left out, and why
};
/// Throws InputError if the file is missing or not a shard.
[[nodiscard]] LoadedTrace read_trace_shard(std::filesystem::path const& file);

/// Records emitted by one rank for the next stage. Appended records count only up to a committed length. Used by one
/// thread.
class EmitShard {
public:
    /// Throws SystemError if the file exists or cannot be made.
    explicit EmitShard(std::filesystem::path const& file);
    ~EmitShard();
    EmitShard(EmitShard const&) = delete;
    EmitShard& operator=(EmitShard const&) = delete;

    /// Returns the length after it, in records; synced to disk. Throws SystemError.
    std::uint64_t append(std::span<search::EmitRecord const> records);

private:
    struct File;
    std::unique_ptr<File> file_;
};

/// The first `records` records. Throws InputError naming the file if it is missing, damaged or shorter.
[[nodiscard]] std::vector<search::EmitRecord> read_emit_shard(std::filesystem::path const& file, std::uint64_t records);

} // namespace espalier::store
