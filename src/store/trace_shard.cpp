#include "espalier/store/shards.hpp"

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

std::vector<Event> read_events(hid_t file) {
    auto const data = h5::open_dataset(file, "events");
    std::vector<Event> events(h5::rows(data));
    h5::read_first(data, event_type(), events.data(), events.size());
    auto const is_unknown = [](Event const& e) { return static_cast<std::size_t>(e.kind) >= trace::kind_names.size(); };
    if (std::ranges::any_of(events, is_unknown)) throw h5::Failure("an event is of an unknown kind");
    return events;
}

} // namespace

struct TraceShard::File {
    ShardFile file;
    h5::Type type;
    h5::Dataset events;
    std::uint64_t written = 0;

    explicit File(std::filesystem::path const& path) : file(path, ShardFile::Existing::replace) {}

    void start(ShardInfo const& info) {
        type = event_type();
        write_info(file.id(), info);
        events = h5::make_dataset(file.id(), "events", packed(type), {.chunk_rows = chunk_rows});
        h5::set_text(events, "units", "start_ns=ns; duration_ns=ns; useful_ns=ns; bytes=B");
        h5::set_text(events, "names", "kind=" + h5::joined_names(trace::kind_names));
    }
};

TraceShard::TraceShard(std::filesystem::path const& file, ShardInfo const& info) : file_(std::make_unique<File>(file)) {
    file_->file.change(0, [&] { file_->start(info); });
}

TraceShard::~TraceShard() = default;

void TraceShard::append(std::span<Event const> events) {
    // The last chunk is written again with every batch.
    auto const bytes = (events.size() + chunk_rows) * sizeof(Event);
    file_->file.change(bytes, [&] { h5::append(file_->events, file_->type, events.data(), events.size()); });
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
        return LoadedTrace{read_info(opened), read_events(opened)};
    });
}

} // namespace espalier::store
