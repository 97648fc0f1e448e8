#include "espalier/analysis/exports/timeline.hpp"
#include "espalier/analysis/exports/writers.hpp"

#include "archive.hpp"
#include "new_folder.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

namespace espalier::analysis::exports {
namespace {

using trace::Event;
using trace::Kind;

constexpr OTF2_CommRef comm_world = 0;
constexpr auto kinds = trace::kind_names.size();

/// One thread of one rank.
struct Location {
    OTF2_LocationRef id = 0;
    OTF2_EvtWriter* writer = nullptr; ///< while its shard is read
    std::uint64_t records = 0;
};

/// The event files, one per thread; those of one rank are open at a time.
class EventFiles {
public:
    EventFiles(Archive& archive, TraceSource const& source, Messages& messages)
        : archive_(archive), messages_(messages), attributes_(OTF2_AttributeList_New()) {
        OTF2_LocationRef next = 0;
        for (auto const& shard : source.shards) {
            ranks_.emplace(shard.info.rank, static_cast<std::uint32_t>(ranks_.size()));
            auto& threads = locations_.emplace_back(static_cast<std::size_t>(shard.info.threads) + 1);
            for (auto& location : threads) location.id = next++;
        }
        archive_.check(OTF2_Archive_OpenEvtFiles(archive_.get()));
    }

    void step(int rank, Step const& step) {
        auto const number = ranks_.at(rank);
        if (number != open_) open(number);
        auto& location = locations_[number][step.event->thread];
        last_ns_ = std::max(last_ns_, step.time_ns);
        step.type == Step::Type::begin ? enter(location, rank, step) : leave(location, rank, step);
    }

    void close() {
        close_rank();
        archive_.check(OTF2_Archive_CloseEvtFiles(archive_.get()));
    }

    [[nodiscard]] std::vector<std::vector<Location>> const& locations() const { return locations_; }
    [[nodiscard]] std::int64_t last_ns() const { return last_ns_; }

private:
    static constexpr std::uint32_t none = ~0u;

    void open(std::uint32_t number) {
        close_rank();
        for (auto& location : locations_[number])
            location.writer = archive_.require(OTF2_Archive_GetEvtWriter(archive_.get(), location.id));
        open_ = number;
    }

    void close_rank() {
        if (open_ == none) return;
        for (auto& location : locations_[open_])
            archive_.check(OTF2_Archive_CloseEvtWriter(archive_.get(), std::exchange(location.writer, nullptr)));
        open_ = none;
    }

    void enter(Location& location, int rank, Step const& step) {
        auto const& event = *step.event;
        auto const values = details(event);
        for (std::size_t i = 0; i < values.size(); ++i)
            if (values[i])
                archive_.check(
                    OTF2_AttributeList_AddUint64(attributes_.get(), static_cast<OTF2_AttributeRef>(i), *values[i]));
        record(location, OTF2_EvtWriter_Enter(location.writer, attributes_.get(), time(step), region(event.kind)));
        if (event.kind != Kind::send || !is_message(rank, event)) return;
        record(location, OTF2_EvtWriter_MpiSend(location.writer, nullptr, time(step), ranks_.at(event.peer), comm_world,
                                                tag(event), event.bytes));
    }

    void leave(Location& location, int rank, Step const& step) {
        auto const& event = *step.event;
        if (event.kind == Kind::receive && is_message(rank, event))
            record(location, OTF2_EvtWriter_MpiRecv(location.writer, nullptr, time(step), ranks_.at(event.peer),
                                                    comm_world, tag(event), event.bytes));
        record(location, OTF2_EvtWriter_Leave(location.writer, nullptr, time(step), region(event.kind)));
    }

    [[nodiscard]] bool is_message(int rank, Event const& event) {
        return messages_.arrow(rank, event).has_value() && ranks_.contains(event.peer);
    }

    void record(Location& location, OTF2_ErrorCode code) {
        archive_.check(code);
        ++location.records;
    }

    static OTF2_TimeStamp time(Step const& step) { return static_cast<OTF2_TimeStamp>(step.time_ns); }
    static OTF2_RegionRef region(Kind kind) { return static_cast<OTF2_RegionRef>(kind); }
    /// Unique among the messages in flight, so that tools that pair by tag cannot err.
    static std::uint32_t tag(Event const& event) { return static_cast<std::uint32_t>(event.id); }

    struct Deleter {
        void operator()(OTF2_AttributeList* list) const { OTF2_AttributeList_Delete(list); }
    };
    Archive& archive_;
    Messages& messages_;
    std::unique_ptr<OTF2_AttributeList, Deleter> attributes_;
    std::map<int, std::uint32_t> ranks_;           ///< place among the shards that are there: the rank in OTF2's world
    std::vector<std::vector<Location>> locations_; ///< by that place and thread
    std::uint32_t open_ = none;
    std::int64_t last_ns_ = 0;
};

/// The global definitions, written last because they tell the number of records.
class Definitions {
public:
    Definitions(Archive& archive, TraceSource const& source, EventFiles const& events)
        : archive_(archive), source_(source), events_(events),
          writer_(archive.require(OTF2_Archive_GetGlobalDefWriter(archive.get()))) {}

    void write() {
        check(OTF2_GlobalDefWriter_WriteClockProperties(writer_, 1'000'000'000, 0,
                                                        static_cast<std::uint64_t>(events_.last_ns()), wall_start()));
        write_kinds();
        write_machine();
        write_world();
    }

private:
    void check(OTF2_ErrorCode code) const { archive_.check(code); }

    OTF2_StringRef text(std::string const& value) {
        check(OTF2_GlobalDefWriter_WriteString(writer_, strings_, value.c_str()));
        return strings_++;
    }

    /// When the run began, in nanoseconds since 1970.
    [[nodiscard]] std::uint64_t wall_start() const {
        auto const& info = source_.shards.front().info;
        return static_cast<std::uint64_t>(source_.start_ns - info.clock_offset_ns + info.wall_minus_steady_ns);
    }

    void write_kinds() {
        auto const none = text("");
        for (std::size_t i = 0; i < kinds; ++i) {
            auto const kind = static_cast<Kind>(i);
            auto const is_message = kind == Kind::send || kind == Kind::receive;
            auto const role = is_message            ? OTF2_REGION_ROLE_POINT2POINT
                              : kind == Kind::write ? OTF2_REGION_ROLE_FILE_IO
                                                    : OTF2_REGION_ROLE_FUNCTION;
            auto const name = text(std::string(label(kind)));
            check(OTF2_GlobalDefWriter_WriteRegion(writer_, static_cast<OTF2_RegionRef>(i), name, name, none, role,
                                                   is_message ? OTF2_PARADIGM_MPI : OTF2_PARADIGM_USER,
                                                   OTF2_REGION_FLAG_NONE, none, 0, 0));
        }
        for (std::size_t i = 0; i < detail_names.size(); ++i)
            check(OTF2_GlobalDefWriter_WriteAttribute(writer_, static_cast<OTF2_AttributeRef>(i),
                                                      text(std::string(detail_names[i])), none, OTF2_TYPE_UINT64));
    }

    void write_machine() {
        auto const machine_class = text("machine"), node_class = text("node");
        OTF2_SystemTreeNodeRef next = 0;
        auto const machine = next++;
        check(OTF2_GlobalDefWriter_WriteSystemTreeNode(writer_, machine, text("cluster"), machine_class,
                                                       OTF2_UNDEFINED_SYSTEM_TREE_NODE));
        std::map<std::string, OTF2_SystemTreeNodeRef> hosts;
        for (std::size_t i = 0; i < source_.shards.size(); ++i) {
            auto const& info = source_.shards[i].info;
            auto const [host, is_new] = hosts.try_emplace(info.host, next);
            if (is_new)
                check(OTF2_GlobalDefWriter_WriteSystemTreeNode(writer_, next++, text(info.host), node_class, machine));
            write_rank(static_cast<OTF2_LocationGroupRef>(i), info, host->second);
        }
    }

    void write_rank(OTF2_LocationGroupRef group, store::ShardInfo const& info, OTF2_SystemTreeNodeRef host) {
        check(OTF2_GlobalDefWriter_WriteLocationGroup(writer_, group, text(process_name(info)),
                                                      OTF2_LOCATION_GROUP_TYPE_PROCESS, host,
                                                      OTF2_UNDEFINED_LOCATION_GROUP));
        auto const& threads = events_.locations()[group];
        for (std::size_t i = 0; i < threads.size(); ++i)
            check(OTF2_GlobalDefWriter_WriteLocation(writer_, threads[i].id, text(thread_name(static_cast<int>(i))),
                                                     OTF2_LOCATION_TYPE_CPU_THREAD, threads[i].records, group));
    }

    /// Ranks are numbered by their place among the shards, because OTF2 wants them without gaps.
    void write_world() {
        std::vector<std::uint64_t> members, places;
        for (auto const& threads : events_.locations()) {
            places.push_back(members.size());
            members.push_back(threads.front().id);
        }
        auto const count = static_cast<std::uint32_t>(members.size());
        auto const none = text(""), world = text("MPI_COMM_WORLD");
        check(OTF2_GlobalDefWriter_WriteParadigm(writer_, OTF2_PARADIGM_MPI, text("MPI"), OTF2_PARADIGM_CLASS_PROCESS));
        check(OTF2_GlobalDefWriter_WriteGroup(writer_, 0, none, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
                                              OTF2_GROUP_FLAG_NONE, count, members.data()));
        check(OTF2_GlobalDefWriter_WriteGroup(writer_, 1, none, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                              OTF2_GROUP_FLAG_NONE, count, places.data()));
        check(OTF2_GlobalDefWriter_WriteComm(writer_, comm_world, world, 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
    }

    Archive& archive_;
    TraceSource const& source_;
    EventFiles const& events_;
    OTF2_GlobalDefWriter* writer_;
    OTF2_StringRef strings_ = 0;
};

/// Readers look for a definition file beside each event file, even if there is nothing to say.
void write_local_definitions(Archive& archive, EventFiles const& events) {
    archive.check(OTF2_Archive_OpenDefFiles(archive.get()));
    for (auto const& threads : events.locations())
        for (auto const& location : threads)
            archive.check(OTF2_Archive_CloseDefWriter(
                archive.get(), archive.require(OTF2_Archive_GetDefWriter(archive.get(), location.id))));
    archive.check(OTF2_Archive_CloseDefFiles(archive.get()));
}

} // namespace

Written write_otf2(TraceSource& source, Window const& window, std::filesystem::path const& folder) {
    auto const wanted = folder.has_filename() ? folder : folder.parent_path(); // without the slash at the end
    NewFolder target(wanted);
    Messages messages(source, window);
    Archive archive(target.partial(), wanted);
    EventFiles events(archive, source, messages);
    auto const count =
        visit_steps(source, window, [&](auto const& info, Step const& step) { events.step(info.rank, step); });
    events.close();
    write_local_definitions(archive, events);
    Definitions(archive, source, events).write();
    archive.close();
    target.complete();
    return {.events = count, .messages = messages.drawn(), .open = wanted / "traces.otf2"};
}

} // namespace espalier::analysis::exports
