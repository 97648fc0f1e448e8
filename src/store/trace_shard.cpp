#include "espalier/store/shards.hpp"

#include "h5_errors.hpp"
#include "shard_file.hpp"

#include <algorithm>
#include <cstddef>

namespace espalier::store {
namespace {

using trace::Event;

constexpr std::string_view format = "espalier trace shard";
constexpr std::size_t chunk_rows = 4096;

/// Of an Event in memory.
h5::Type event_type() {
    h5::Type type(H5Tcreate(H5T_COMPOUND, sizeof(Event)), "make the event type");
    auto const field = [&](char const* name, std::size_t offset, hid_t member) {
        h5::check(H5Tinsert(type, name, offset, member), "make the event type");
    };
    field("start_ns", offsetof(Event, start_ns), H5T_NATIVE_INT64);
    field("duration_ns", offsetof(Event, duration_ns), H5T_NATIVE_INT64);
    field("useful_ns", offsetof(Event, useful_ns), H5T_NATIVE_INT64);
    field("id", offsetof(Event, id), H5T_NATIVE_UINT64);
    field("parent", offsetof(Event, parent), H5T_NATIVE_UINT64);
    field("nodes", offsetof(Event, nodes), H5T_NATIVE_UINT32);
    field("prunes", offsetof(Event, prunes), H5T_NATIVE_UINT32);
    field("bytes", offsetof(Event, bytes), H5T_NATIVE_UINT32);
    field("peer", offsetof(Event, peer), H5T_NATIVE_INT32);
    field("depth", offsetof(Event, depth), H5T_NATIVE_INT32);
    field("thread", offsetof(Event, thread), H5T_NATIVE_UINT16);
    field("merged", offsetof(Event, merged), H5T_NATIVE_UINT16);
    field("kind", offsetof(Event, kind), h5::enum_type(trace::kind_names));
    return type;
}

h5::Type packed(h5::Type const& type) {
    h5::Type copy(H5Tcopy(type), "copy a type");
    h5::check(H5Tpack(copy), "pack a type");
    return copy;
}

void write_info(hid_t file, ShardInfo const& info) {
    h5::set_schema(file, format);
    h5::set<std::int32_t>(file, "rank", info.rank);
    h5::set<std::int32_t>(file, "threads", info.threads);
    h5::set_text(file, "host", info.host);
    h5::set<std::int64_t>(file, "clock_offset_ns", info.clock_offset_ns);
    h5::set<std::int64_t>(file, "wall_minus_steady_ns", info.wall_minus_steady_ns);
}

ShardInfo read_info(hid_t file) {
    ShardInfo info;
    info.rank = h5::get<std::int32_t>(file, "rank");
    info.threads = h5::get<std::int32_t>(file, "threads");
    info.host = h5::get_text(file, "host");
    info.clock_offset_ns = h5::get<std::int64_t>(file, "clock_offset_ns");
    info.wall_minus_steady_ns = h5::get<std::int64_t>(file, "wall_minus_steady_ns");
    return info;
}

/// Rows that the writer did not get to are zero.
bool is_written(Event const& event) {
    return event.merged > 0 && static_cast<std::size_t>(event.kind) < trace::kind_names.size();
}

/// The chunks of /events up to the first one that cannot be read. Only a writer that was killed within a flush leaves
/// such a chunk.
std::vector<Event> read_chunks(h5::Dataset const& data, h5::Type const& type) {
    std::vector<Event> events(h5::rows(data));
    for (std::uint64_t first = 0; first < events.size(); first += chunk_rows) {
        auto const chunk = std::span(events).subspan(first, std::min<std::size_t>(chunk_rows, events.size() - first));
        try {
            h5::read_rows(data, type, chunk.data(), {first, chunk.size()});
        } catch (h5::Failure const&) {
            chunk.front() = {.merged = 0};
        }
        if (std::ranges::all_of(chunk, is_written)) continue;
        events.resize(first);
    }
    return events;
}

/// What a killed writer left in /tail and not yet in /events.
void add_tail(hid_t file, h5::Type const& type, std::vector<Event>& events) {
    if (!h5::has(file, "tail")) return;
    auto const data = h5::open_dataset(file, "tail");
    std::vector<Event> tail(h5::rows(data));
    h5::read_rows(data, type, tail.data(), {.count = tail.size()});
    auto const first = h5::get<std::uint64_t>(data, "first_row");
    if (first > events.size()) return; // there would be a gap
    auto const count = std::min<std::uint64_t>(h5::get<std::uint64_t>(data, "rows"), tail.size());
    for (std::uint64_t i = 0; i < count; ++i)
        if (first + i >= events.size() && is_written(tail[i])) events.push_back(tail[i]);
}

void read_events(hid_t file, LoadedTrace& loaded) {
    auto const type = event_type();
    auto const data = h5::open_dataset(file, "events");
    auto const stored = h5::rows(data);
    loaded.events = read_chunks(data, type);
    add_tail(file, type, loaded.events);
    if (loaded.events.size() >= stored) return;
    loaded.warning = fmt::format("only the first {} of {} events can be read: the writer was killed while it wrote",
                                 loaded.events.size(), stored);
}

} // namespace

/// Whole chunks go to /events and are never touched again: a compressed chunk that is written again moves, and a writer
/// killed at that moment would leave neither version. The events of the last, partial chunk wait in /tail, in place and
/// not compressed, until the chunk is full or the file is closed.
struct TraceShard::File {
    ShardFile file;
    h5::Type type;
    h5::Dataset events;
    h5::Dataset tail;
    std::vector<Event> waiting; ///< what /tail holds
    std::uint64_t written = 0;

    explicit File(std::filesystem::path const& path) : file(path, ShardDisk::Existing::replace) {}

    void start(ShardInfo const& info) {
        type = event_type();
        auto const packed_type = packed(type);
        write_info(file.id(), info);
        events = h5::make_dataset(file.id(), "events", packed_type, {.chunk_rows = chunk_rows});
        h5::set_text(events, "units", "start_ns=ns; duration_ns=ns; useful_ns=ns; bytes=B");
        h5::set_text(events, "names", "kind=" + h5::joined_names(trace::kind_names));
        tail = h5::make_fixed_dataset(file.id(), "tail", packed_type, chunk_rows);
        describe_tail();
    }

    void describe_tail() const {
        h5::set<std::uint64_t>(tail, "first_row", h5::rows(events));
        h5::set<std::uint64_t>(tail, "rows", waiting.size());
    }

    void append(std::span<Event const> more) {
        auto from = waiting.size();
        waiting.insert(waiting.end(), more.begin(), more.end());
        if (auto const whole = waiting.size() / chunk_rows * chunk_rows; whole > 0) {
            h5::append(events, type, waiting.data(), whole);
            file.flush(); // before /tail is written over
            waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(whole));
            from = 0;
        }
        h5::write_rows(tail, type, waiting.data() + from, {from, waiting.size() - from});
        describe_tail();
    }

    void finish() {
        h5::append(events, type, waiting.data(), waiting.size());
        file.flush();
        tail = {};
        h5::check(H5Ldelete(file.id(), "tail", H5P_DEFAULT), "remove the tail");
    }
};

TraceShard::TraceShard(std::filesystem::path const& file, ShardInfo const& info) : file_(std::make_unique<File>(file)) {
    auto const bytes = chunk_rows * sizeof(Event);
    file_->file.change(bytes, [&] { file_->start(info); });
}

TraceShard::~TraceShard() {
    try {
        file_->file.change(file_->waiting.size() * sizeof(Event), [&] { file_->finish(); });
    } catch (base::SystemError const&) { // the tail stays where it is, and read_trace_shard finds it there
    }
}

void TraceShard::append(std::span<Event const> events) {
    auto const whole_chunks = (file_->waiting.size() + events.size()) / chunk_rows;
    file_->file.change(whole_chunks * chunk_rows * sizeof(Event), [&] { file_->append(events); });
    file_->written += events.size();
}

std::uint64_t TraceShard::events() const { return file_->written; }

void TraceShard::set_clock_offset(std::int64_t offset_ns) {
    file_->file.change(0, [&] { h5::set<std::int64_t>(file_->file.id(), "clock_offset_ns", offset_ns); });
}

LoadedTrace read_trace_shard(std::filesystem::path const& file) {
    return h5::reading(file, [&] {
        auto const opened = h5::open_to_read(file);
        h5::check_schema(file, opened, format);
        LoadedTrace loaded{read_info(opened), {}, {}};
        read_events(opened, loaded);
        return loaded;
    });
}

} // namespace espalier::store
