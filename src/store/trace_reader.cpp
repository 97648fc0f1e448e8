#include "espalier/store/shards.hpp"

#include "h5_errors.hpp"
#include "trace_table.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace espalier::store {

using trace::Event;

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

namespace {

constexpr std::size_t batch_rows = 16 * trace_chunk_rows;

ShardInfo read_info(hid_t file) {
    ShardInfo info;
    info.rank = h5::get<std::int32_t>(file, "rank");
    info.threads = h5::get<std::int32_t>(file, "threads");
    info.host = h5::get_text(file, "host");
    info.clock_offset_ns = h5::get<std::int64_t>(file, "clock_offset_ns");
    info.wall_minus_steady_ns = h5::get<std::int64_t>(file, "wall_minus_steady_ns");
    if (H5Aexists(file, "start_ns") > 0) info.start_ns = h5::get<std::int64_t>(file, "start_ns");
    return info;
}

std::vector<OutcomeTime> read_outcomes(hid_t file) {
    if (!h5::has(file, "outcomes")) return {};
    auto const data = h5::open_dataset(file, "outcomes");
    std::vector<std::int64_t> ns(h5::rows(data));
    h5::read_rows(data, h5::native<std::int64_t>(), ns.data(), {.count = ns.size()});
    std::vector<OutcomeTime> outcomes;
    auto const names = h5::get_text(data, "names");
    std::size_t from = 0;
    for (auto const time : ns) {
        auto const to = std::min(names.find('\n', from), names.size());
        outcomes.push_back({names.substr(from, to - from), time});
        from = std::min(to + 1, names.size());
    }
    return outcomes;
}

/// Rows that the writer did not get to are zero.
bool is_written(Event const& event) {
    return event.merged > 0 && static_cast<std::size_t>(event.kind) < trace::kind_names.size();
}

/// From the stored form; quicker than the library's conversion, which looks at every field by its own.
class Unpacker {
public:
    template <class T>
    Unpacker& operator()(T& value) {
        std::memcpy(&value, at_, sizeof(T));
        at_ += sizeof(T);
        return *this;
    }
    explicit Unpacker(std::byte const* at) : at_(at) {}

private:
    std::byte const* at_;
};

Event unpacked(std::byte const* row) {
    Event e;
    Unpacker next(row);
    next(e.start_ns)(e.duration_ns)(e.useful_ns)(e.id)(e.parent)(e.nodes)(e.prunes)(e.bytes)(e.peer)(e.depth);
    next(e.thread)(e.merged)(e.kind);
    return e;
}

} // namespace

constexpr std::string_view do_without = "copy it again from where it was written, or do without it";

struct TraceReader::File {
    std::filesystem::path path;
    h5::File file;
    h5::Type type;        ///< in memory
    h5::Type stored_type; ///< in the file
    bool is_plain = false;
    h5::Dataset data;
    std::uint64_t rows = 0;
    std::uint64_t next_row = 0;
    bool is_at_end = false;
    std::vector<std::byte> raw;
    std::vector<Event> events;

    void read(std::span<Event> out, std::uint64_t first) {
        if (!is_plain) return h5::read_rows(data, type, out.data(), {first, out.size()});
        auto const size = H5Tget_size(stored_type);
        raw.resize(out.size() * size);
        h5::read_rows(data, stored_type, raw.data(), {first, out.size()});
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = unpacked(raw.data() + i * size);
    }
    /// False if these rows cannot be read, or were never written.
    bool can_read(std::span<Event> out, std::uint64_t first) {
        try {
            read(out, first);
        } catch (h5::Failure const&) {
            return false;
        }
        return std::ranges::all_of(out, is_written);
    }
    /// Up to the first chunk that cannot be read. Only a writer that was killed within a flush leaves such a chunk.
    void read_batch() {
        events.resize(std::min<std::uint64_t>(batch_rows, rows - next_row));
        if (can_read(events, next_row)) {
            next_row += events.size();
            return;
        }
        for (std::size_t done = 0; done < events.size(); done += trace_chunk_rows) {
            auto const chunk = std::span(events).subspan(done, std::min(trace_chunk_rows, events.size() - done));
            if (can_read(chunk, next_row)) {
                next_row += chunk.size();
                continue;
            }
            events.resize(done);
            is_at_end = true;
        }
    }
    /// What a killed writer left in /tail and not yet in /events.
    void add_tail() {
        if (!h5::has(file, "tail")) return;
        auto const from = h5::open_dataset(file, "tail");
        std::vector<Event> tail(h5::rows(from));
        h5::read_rows(from, type, tail.data(), {.count = tail.size()});
        auto const first = h5::get<std::uint64_t>(from, "first_row");
        if (first > next_row) return; // there would be a gap
        auto const count = std::min<std::uint64_t>(h5::get<std::uint64_t>(from, "rows"), tail.size());
        for (std::uint64_t i = next_row - first; i < count; ++i)
            if (is_written(tail[i])) events.push_back(tail[i]), ++next_row;
    }
};

TraceReader::TraceReader(std::filesystem::path const& file) : file_(std::make_unique<File>()) {
    file_->path = file;
    h5::reading(
        file,
        [&] {
            file_->file = h5::open_to_read(file);
            h5::check_schema(file, file_->file, trace_format);
            info_ = read_info(file_->file);
            outcomes_ = read_outcomes(file_->file);
            file_->type = event_type();
            file_->data = h5::open_dataset(file_->file, "events");
            file_->stored_type = h5::Type(H5Dget_type(file_->data), "read the type of events");
            file_->is_plain = H5Tequal(file_->stored_type, packed(file_->type)) > 0;
            file_->rows = h5::rows(file_->data);
            return 0;
        },
        do_without);
}
TraceReader::~TraceReader() = default;
TraceReader::TraceReader(TraceReader&&) noexcept = default;
TraceReader& TraceReader::operator=(TraceReader&&) noexcept = default;

std::uint64_t TraceReader::stored_events() const { return file_->rows; }

std::span<Event const> TraceReader::next() {
    auto& file = *file_;
    file.events.clear();
    if (file.is_at_end) return {};
    h5::reading(
        file.path,
        [&] {
            if (file.next_row < file.rows) file.read_batch();
            if (file.next_row < file.rows && !file.is_at_end) return 0;
            file.is_at_end = true;
            file.add_tail();
            return 0;
        },
        do_without);
    if (file.is_at_end && file.next_row < file.rows)
        warning_ =
            fmt::format("only the first {} of {} events can be read: the file is damaged, or its writer was killed "
                        "while it wrote",
                        file.next_row, file.rows);
    return file.events;
}

LoadedTrace read_trace_shard(std::filesystem::path const& file) {
    TraceReader reader(file);
    LoadedTrace loaded{reader.info(), {}, {}};
    for (auto batch = reader.next(); !batch.empty(); batch = reader.next())
        loaded.events.insert(loaded.events.end(), batch.begin(), batch.end());
    loaded.warning = reader.warning();
    return loaded;
}

} // namespace espalier::store
