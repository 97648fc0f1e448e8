#include "espalier/analysis/exports/timeline.hpp"
#include "espalier/analysis/exports/writers.hpp"

#include "output_file.hpp"
#include "protobuf.hpp"

/// Field numbers as published in protos/perfetto/trace of github.com/google/perfetto.
namespace espalier::analysis::exports {
namespace {

namespace trace_fields {
constexpr int packet = 1;
}
namespace packet_fields {
constexpr int timestamp = 8, sequence = 10, track_event = 11, track_descriptor = 60;
}
namespace track_fields {
constexpr int uuid = 1, process = 3, thread = 4, parent_uuid = 5;
}
namespace process_fields {
constexpr int pid = 1, process_name = 6;
}
namespace thread_fields {
constexpr int pid = 1, tid = 2, thread_name = 5;
}
namespace event_fields {
constexpr int debug_annotations = 4, type = 9, track_uuid = 11, name = 23, flow_ids = 47, terminating_flow_ids = 48;
}
namespace annotation_fields {
constexpr int uint_value = 3, name = 10;
}
constexpr std::uint64_t slice_begin = 1, slice_end = 2;

class PerfettoFile {
public:
    PerfettoFile(std::filesystem::path const& file, TraceSource const& source, Messages& messages)
        : out_(file), messages_(messages) {
        for (auto const& shard : source.shards)
            while (pid_stride_ <= static_cast<std::uint64_t>(shard.info.threads)) pid_stride_ *= 10;
        for (auto const& shard : source.shards) declare(shard.info);
    }

    void step(int rank, Step const& step) {
        auto const& event = *step.event;
        auto const is_begin = step.type == Step::Type::begin;
        event_.clear();
        event_.varint(event_fields::type, is_begin ? slice_begin : slice_end);
        event_.varint(event_fields::track_uuid, uuid(rank, event.thread + 1));
        if (is_begin) describe(rank, event);
        packet_.clear();
        packet_.varint(packet_fields::timestamp, static_cast<std::uint64_t>(step.time_ns));
        packet_.varint(packet_fields::sequence, 1);
        packet_.message(packet_fields::track_event, event_);
        write_packet();
    }

    void complete() { out_.complete(); }

private:
    /// `part` 0 is the process, 1.. are its threads.
    static std::uint64_t uuid(int rank, int part) {
        return ((static_cast<std::uint64_t>(rank) + 1) << 20) | static_cast<std::uint64_t>(part);
    }
    /// Never 0, which Perfetto takes for the kernel's idle process; no two threads have one number, and the
    /// communicating thread is the process's main one.
    [[nodiscard]] std::uint64_t pid(int rank) const { return 1 + static_cast<std::uint64_t>(rank) * pid_stride_; }

    void declare(store::ShardInfo const& info) {
        Protobuf process;
        process.varint(process_fields::pid, pid(info.rank));
        process.text(process_fields::process_name, process_name(info));
        Protobuf track;
        track.varint(track_fields::uuid, uuid(info.rank, 0));
        track.message(track_fields::process, process);
        write_track(track);
        for (int thread = 0; thread <= info.threads; ++thread) declare(info.rank, thread);
    }

    void declare(int rank, int number) {
        Protobuf thread;
        thread.varint(thread_fields::pid, pid(rank));
        thread.varint(thread_fields::tid, pid(rank) + static_cast<std::uint64_t>(number));
        thread.text(thread_fields::thread_name, thread_name(number));
        Protobuf track;
        track.varint(track_fields::uuid, uuid(rank, number + 1));
        track.varint(track_fields::parent_uuid, uuid(rank, 0));
        track.message(track_fields::thread, thread);
        write_track(track);
    }

    void describe(int rank, trace::Event const& event) {
        event_.text(event_fields::name, label(event.kind));
        auto const values = details(event);
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (!values[i]) continue;
            annotation_.clear();
            annotation_.text(annotation_fields::name, detail_names[i]);
            annotation_.varint(annotation_fields::uint_value, *values[i]);
            event_.message(event_fields::debug_annotations, annotation_);
        }
        if (auto const arrow = messages_.arrow(rank, event))
            event_.fixed64(
                event.kind == trace::Kind::send ? event_fields::flow_ids : event_fields::terminating_flow_ids, *arrow);
    }

    void write_track(Protobuf const& track) {
        packet_.clear();
        packet_.varint(packet_fields::sequence, 1);
        packet_.message(packet_fields::track_descriptor, track);
        write_packet();
    }

    void write_packet() {
        trace_.clear();
        trace_.message(trace_fields::packet, packet_);
        out_.append(trace_.bytes());
    }

    OutputFile out_;
    Messages& messages_;
    std::uint64_t pid_stride_ = 10;
    Protobuf trace_, packet_, event_, annotation_;
};

} // namespace

Written write_perfetto(TraceSource& source, Window const& window, std::filesystem::path const& file) {
    Messages messages(source, window);
    PerfettoFile out(file, source, messages);
    auto const events =
        visit_steps(source, window, [&](auto const& info, Step const& step) { out.step(info.rank, step); });
    out.complete();
    return {.events = events, .messages = messages.drawn(), .open = file};
}

} // namespace espalier::analysis::exports
