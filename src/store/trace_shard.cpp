#include "espalier/store/shards.hpp"

#include "h5_errors.hpp"
#include "shard_file.hpp"
#include "trace_table.hpp"

#include <fmt/ranges.h>

namespace espalier::store {
namespace {

using trace::Event;

void write_info(hid_t file, ShardInfo const& info) {
    h5::set_schema(file, trace_format);
    h5::set<std::int32_t>(file, "rank", info.rank);
    h5::set<std::int32_t>(file, "segment", info.segment);
    h5::set<std::int32_t>(file, "threads", info.threads);
    h5::set_text(file, "host", info.host);
    h5::set<std::int64_t>(file, "clock_offset_ns", info.clock_offset_ns);
    h5::set<std::int64_t>(file, "wall_minus_steady_ns", info.wall_minus_steady_ns);
    h5::set<std::int64_t>(file, "start_ns", info.start_ns);
}

} // namespace

/// Whole chunks go to /events and are never touched again: a compressed chunk that is written again moves, and its old
/// place is wasted. The events of the last, partial chunk wait in /tail, in place and not compressed, until the chunk
/// is full or the file is closed.
struct TraceShard::File {
    ShardFile file;
    h5::Type type;
    h5::Dataset events;
    h5::Dataset tail;
    h5::Dataset outcomes;
    h5::Dataset samples;
    std::vector<Event> waiting; ///< what /tail holds
    std::uint64_t written = 0;

    explicit File(std::filesystem::path const& path) : file(path, ShardDisk::Existing::replace) {}

    void start(ShardInfo const& info, std::vector<std::string> const& outcome_names) {
        type = event_type();
        auto const packed_type = packed(type);
        write_info(file.id(), info);
        events = h5::make_dataset(file.id(), "events", packed_type, {.chunk_rows = trace_chunk_rows});
        h5::set_text(events, "units", "start_ns=ns; duration_ns=ns; useful_ns=ns; bytes=B");
        h5::set_text(events, "names", "kind=" + h5::joined_names(trace::kind_names));
        tail = h5::make_fixed_dataset(file.id(), "tail", packed_type, trace_chunk_rows);
        describe_tail();
        if (outcome_names.empty()) return;
        outcomes = h5::make_fixed_dataset(file.id(), "outcomes", h5::native<std::int64_t>(), outcome_names.size());
        h5::set_text(outcomes, "units", "ns");
        h5::set_text(outcomes, "names", fmt::format("{}", fmt::join(outcome_names, "\n")));
        samples =
            h5::make_fixed_dataset(file.id(), "outcome_samples", h5::native<std::int64_t>(), outcome_names.size());
    }

    void describe_tail() const {
        h5::set<std::uint64_t>(tail, "first_row", h5::rows(events));
        h5::set<std::uint64_t>(tail, "rows", waiting.size());
    }

    void append(std::span<Event const> more) {
        auto from = waiting.size();
        waiting.insert(waiting.end(), more.begin(), more.end());
        if (auto const whole = waiting.size() / trace_chunk_rows * trace_chunk_rows; whole > 0) {
            h5::append(events, type, waiting.data(), whole);
            waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(whole));
            from = 0;
        }
        h5::write_rows(tail, type, waiting.data() + from, {from, waiting.size() - from});
        describe_tail();
    }

    void finish() {
        h5::append(events, type, waiting.data(), waiting.size());
        tail = {};
        h5::check(H5Ldelete(file.id(), "tail", H5P_DEFAULT), "remove the tail");
    }
};

TraceShard::TraceShard(std::filesystem::path const& file, ShardInfo const& info,
                       std::vector<std::string> const& outcome_names)
    : file_(std::make_unique<File>(file)) {
    auto const bytes = trace_chunk_rows * sizeof(Event);
    file_->file.change(bytes, [&] { file_->start(info, outcome_names); });
}

TraceShard::~TraceShard() {
    try {
        file_->file.change(file_->waiting.size() * sizeof(Event), [&] { file_->finish(); });
    } catch (base::SystemError const&) { // the tail stays where it is, and read_trace_shard finds it there
    }
}

void TraceShard::append(std::span<Event const> events) {
    auto const whole_chunks = (file_->waiting.size() + events.size()) / trace_chunk_rows;
    file_->file.change(whole_chunks * trace_chunk_rows * sizeof(Event), [&] { file_->append(events); });
    file_->written += events.size();
}

std::uint64_t TraceShard::events() const { return file_->written; }

void TraceShard::set_clock_offset(std::int64_t offset_ns) {
    file_->file.change(0, [&] { h5::set<std::int64_t>(file_->file.id(), "clock_offset_ns", offset_ns); });
}

void TraceShard::set_outcomes(std::span<std::int64_t const> ns, std::span<std::int64_t const> samples) {
    auto const type = h5::native<std::int64_t>();
    file_->file.change(0, [&] {
        h5::write_rows(file_->outcomes, type, ns.data(), {.count = ns.size()});
        h5::write_rows(file_->samples, type, samples.data(), {.count = samples.size()});
    });
}

} // namespace espalier::store
