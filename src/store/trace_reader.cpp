#include "espalier/store/shards.hpp"

#include "h5_errors.hpp"
#include "shard_image.hpp"
#include "trace_checks.hpp"
#include "trace_table.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <thread>

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
    field("roots", offsetof(Event, roots), H5T_NATIVE_UINT32);
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
    info.start_ns = h5::get<std::int64_t>(file, "start_ns");
    info.segment = h5::get<std::int32_t>(file, "segment");
    if (auto const what = absurdity(info); !what.empty()) throw h5::Failure(fmt::format("{} is out of range", what));
    return info;
}

/// Shards of older versions do not say.
std::vector<std::int64_t> read_samples(hid_t file, std::size_t count) {
    std::vector<std::int64_t> samples(count, -1);
    if (!h5::has(file, "outcome_samples")) return samples;
    auto const data = h5::open_dataset(file, "outcome_samples");
    if (h5::rows(data) == count) h5::read_rows(data, h5::native<std::int64_t>(), samples.data(), {.count = count});
    return samples;
}

std::vector<OutcomeTime> read_outcomes(hid_t file) {
    if (!h5::has(file, "outcomes")) return {};
    auto const data = h5::open_dataset(file, "outcomes");
    std::vector<std::int64_t> ns(h5::rows(data));
    h5::read_rows(data, h5::native<std::int64_t>(), ns.data(), {.count = ns.size()});
    auto const samples = read_samples(file, ns.size());
    std::vector<OutcomeTime> outcomes;
    auto const names = h5::get_text(data, "names");
    std::size_t from = 0;
    for (std::size_t i = 0; i < ns.size(); ++i) {
        auto const to = std::min(names.find('\n', from), names.size());
        outcomes.push_back({names.substr(from, to - from), ns[i], samples[i]});
        from = std::min(to + 1, names.size());
    }
    return outcomes;
}

/// A row that was never written is zero; an event stands for one span at least.
bool is_written(Event const& event) { return event.merged > 0 || event.duration_ns != 0 || event.start_ns != 0; }

/// From the stored form; quicker than the library's conversion, which looks at every field on its own.
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
    next(e.thread)(e.merged)(e.kind)(e.roots);
    return e;
}

} // namespace

constexpr std::string_view do_without = "copy it again from where it was written, or do without it";

struct TraceReader::File {
    std::filesystem::path path;
    OpenShard shard;
    h5::Type type;        ///< in memory
    h5::Type stored_type; ///< in the file
    bool is_plain = false;
    h5::Dataset data;
    std::uint64_t rows = 0;
    std::uint64_t next_row = 0;
    bool is_at_end = false;
    bool is_tail_lost = false;
    std::uint64_t absurd = 0; ///< events that were left out
    std::string first_absurd; ///< of them
    std::vector<std::byte> raw;
    std::vector<Event> events;

    void open() {
        data = {};
        shard.file = {}; // before the bytes below it
        shard.image.reset();
        shard = open_shard(path);
        h5::check_schema(path, shard.file, trace_format);
        type = event_type();
        data = h5::open_dataset(shard.file, "events");
        stored_type = h5::Type(H5Dget_type(data), "read the type of events");
        is_plain = H5Tequal(stored_type, packed(type)) > 0;
        rows = h5::rows(data);
    }
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
    /// Up to the first chunk that cannot be read, because it is damaged.
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
        if (!h5::has(shard.file, "tail")) return;
        auto const from = h5::open_dataset(shard.file, "tail");
        std::vector<Event> tail(std::min<std::uint64_t>(h5::rows(from), trace_chunk_rows));
        h5::read_rows(from, type, tail.data(), {.count = tail.size()});
        auto const first = h5::get<std::uint64_t>(from, "first_row");
        if (first > next_row) return; // there would be a gap
        auto const count = std::min<std::uint64_t>(h5::get<std::uint64_t>(from, "rows"), tail.size());
        for (std::uint64_t i = next_row - first; i < count; ++i) events.push_back(tail[i]), ++next_row;
    }
    void read_next() {
        if (next_row < rows) read_batch();
        if (next_row < rows && !is_at_end) return;
        is_at_end = true;
        if (next_row < rows) return;
        try {
            add_tail();
        } catch (h5::Failure const&) {
            if (shard.image->has_changed()) throw;
            is_tail_lost = true;
        }
    }
    void leave_out_absurd(ShardInfo const& info) {
        EventCheck const check(info);
        absurd += std::erase_if(events, [&](Event const& event) {
            auto const what = check.absurdity(event);
            if (first_absurd.empty()) first_absurd = what;
            return !what.empty();
        });
    }
    [[nodiscard]] std::string warning() const {
        if (is_at_end && next_row < rows)
            return fmt::format("only the first {} of {} events can be read: the file is damaged{}{}", next_row, rows,
                               shard.image->damage().empty() ? "" : ": ", shard.image->damage());
        if (is_tail_lost)
            return fmt::format("its last events cannot be read: the file is damaged: {}", shard.image->damage());
        if (absurd == 0) return {};
        return fmt::format("{} event{} out of range and left out, the first with {}", absurd,
                           absurd == 1 ? " is" : "s are", first_absurd);
    }
};

namespace {

/// A writer that continues while a shard is read looks like damage: what is there now is read again.
template <class Work, class HasChanged>
void with_patience(Work&& work, HasChanged&& has_changed) {
    for (int tries = 0;; ++tries) {
        try {
            return work();
        } catch (h5::Failure const&) {
            if (tries == 20 || !has_changed()) throw;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    }
}

} // namespace

TraceReader::TraceReader(std::filesystem::path const& file) : file_(std::make_unique<File>()) {
    file_->path = file;
    auto version = shard_version(file);
    auto const open = [&] {
        version = shard_version(file);
        file_->open();
        info_ = read_info(file_->shard.file);
        outcomes_ = read_outcomes(file_->shard.file);
    };
    h5::reading(
        file, [&] { with_patience(open, [&] { return shard_version(file) != version; }); }, do_without);
}
TraceReader::~TraceReader() = default;
TraceReader::TraceReader(TraceReader&&) noexcept = default;
TraceReader& TraceReader::operator=(TraceReader&&) noexcept = default;

std::uint64_t TraceReader::stored_events() const { return file_->rows; }

std::span<Event const> TraceReader::next() {
    auto& file = *file_;
    do {
        file.events.clear();
        if (file.is_at_end) break;
        h5::reading(
            file.path, [&] { read_next(); }, do_without);
        file.leave_out_absurd(info_);
    } while (file.events.empty());
    warning_ = file.warning();
    return file.events;
}

/// If the writer has continued, from the same row of what is there now.
void TraceReader::read_next() {
    auto& file = *file_;
    auto const row = file.next_row;
    with_patience(
        [&] {
            if (file.next_row != row || !file.shard.image->damage().empty()) file.open();
            file.next_row = row;
            file.is_at_end = false;
            file.read_next();
            if (file.next_row < file.rows && file.is_at_end && file.shard.image->has_changed())
                throw h5::Failure("the file is changing while it is read");
        },
        [&] { return file.shard.image == nullptr || file.shard.image->has_changed(); });
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
