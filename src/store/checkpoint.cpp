#include "espalier/store/checkpoint.hpp"

#include "espalier/base/hash.hpp"

#include "files.hpp"
#include "h5_errors.hpp"
#include "table.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace espalier::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view format = "espalier checkpoint";
constexpr auto newest_name = "checkpoint.h5";
constexpr auto previous_name = "checkpoint.previous.h5";

/// The last bytes of a checkpoint file, behind the HDF5 data (whose readers ignore them). No part of a file is parsed
/// before its seal is found to be right, because the HDF5 library does not survive all damaged files.
struct Seal {
    static constexpr std::uint64_t magic = 0x314C414553505345ull; // "ESPSEAL1"
    static constexpr std::size_t size_bytes = 24;
};

void seal(base::Bytes& image) {
    auto const size = image.size();
    auto const hash = base::hash_bytes(image);
    base::ByteWriter writer(image);
    writer.put(Seal::magic);
    writer.put(static_cast<std::uint64_t>(size));
    writer.put(hash);
}

/// Why the content is not a whole checkpoint; empty if it is.
std::string damage(std::span<std::byte const> content) {
    if (content.empty()) return "it is empty";
    if (content.size() < Seal::size_bytes) return "it is cut off";
    auto const size = content.size() - Seal::size_bytes;
    base::ByteReader reader(content.subspan(size));
    if (reader.get<std::uint64_t>() != Seal::magic || reader.get<std::uint64_t>() != size) return "it is cut off";
    if (reader.get<std::uint64_t>() != base::hash_bytes(content.first(size))) return "its checksum is wrong";
    return {};
}

void write_values(hid_t file, Checkpoint const& checkpoint) {
    h5::set_schema(file, format);
    h5::set<std::uint64_t>(file, "identity_hash", checkpoint.identity_hash);
    h5::set<std::int32_t>(file, "stage", checkpoint.stage);
    h5::set<std::uint64_t>(file, "nodes", checkpoint.counts.nodes);
    h5::set<double>(file, "incumbent", checkpoint.incumbent);
    h5::set<std::uint64_t>(file, "results", checkpoint.results);
    h5::set<std::uint64_t>(file, "progress", checkpoint.progress);
    h5::set<double>(file, "total_seconds", checkpoint.total_seconds);
    h5::set<double>(file, "total_cpu_seconds", checkpoint.total_cpu_seconds);
    h5::write_list<std::uint64_t>(file, "funnel", checkpoint.counts.funnel);
    h5::write_list<std::uint64_t>(file, "counters", checkpoint.counts.counters);
    h5::TableWriter(checkpoint.emits.size())
        .texts("file", h5::project(checkpoint.emits, &EmitExtent::file))
        .numbers("records", h5::project(checkpoint.emits, &EmitExtent::records))
        .write(file, "emits");
}

base::Bytes joined_bytes(search::PackedNodes const& nodes) {
    base::Bytes bytes;
    bytes.reserve(std::transform_reduce(nodes.begin(), nodes.end(), std::size_t{0}, std::plus<>(),
                                        [](auto const& node) { return node.bytes.size(); }));
    for (auto const& node : nodes) bytes.insert(bytes.end(), node.bytes.begin(), node.bytes.end());
    return bytes;
}

void write_open(hid_t file, search::PackedNodes const& nodes) {
    auto const at = h5::make_group(file, "open");
    auto const length = [](auto const& node) { return static_cast<std::uint32_t>(node.bytes.size()); };
    h5::write_list<std::byte>(at, "bytes", joined_bytes(nodes));
    h5::write_list<std::uint32_t>(at, "lengths", h5::project(nodes, length));
    h5::write_list<std::int32_t>(at, "depths", h5::project(nodes, &search::PackedNode::depth));
    h5::write_list<double>(at, "priorities", h5::project(nodes, &search::PackedNode::priority));
}

base::Bytes image(Checkpoint const& checkpoint) {
    auto const file = h5::create_in_memory();
    write_values(file, checkpoint);
    write_open(file, checkpoint.open);
    return h5::image_of(file);
}

void read_values(hid_t file, Checkpoint& checkpoint) {
    checkpoint.identity_hash = h5::get<std::uint64_t>(file, "identity_hash");
    checkpoint.stage = h5::get<std::int32_t>(file, "stage");
    checkpoint.counts.nodes = h5::get<std::uint64_t>(file, "nodes");
    checkpoint.incumbent = h5::get<double>(file, "incumbent");
    checkpoint.results = h5::get<std::uint64_t>(file, "results");
    checkpoint.progress = h5::get<std::uint64_t>(file, "progress");
    checkpoint.total_seconds = h5::get<double>(file, "total_seconds");
    checkpoint.total_cpu_seconds = h5::get<double>(file, "total_cpu_seconds");
    checkpoint.counts.funnel = h5::read_list<std::uint64_t>(file, "funnel");
    checkpoint.counts.counters = h5::read_list<std::uint64_t>(file, "counters");
    h5::TableReader const emits(file, "emits");
    auto const files = emits.texts("file");
    auto const records = emits.numbers<std::uint64_t>("records");
    for (std::size_t i = 0; i < files.size(); ++i) checkpoint.emits.push_back({files[i], records[i]});
}

search::PackedNodes read_open(hid_t file) {
    auto const at = h5::open_group(file, "open");
    auto const bytes = h5::read_list<std::byte>(at, "bytes");
    auto const lengths = h5::read_list<std::uint32_t>(at, "lengths");
    auto const depths = h5::read_list<std::int32_t>(at, "depths");
    auto const priorities = h5::read_list<double>(at, "priorities");
    if (depths.size() != lengths.size() || priorities.size() != lengths.size() ||
        std::accumulate(lengths.begin(), lengths.end(), std::size_t{0}) != bytes.size())
        throw h5::Failure("the lists of open nodes do not fit together");
    search::PackedNodes nodes(lengths.size());
    base::ByteReader reader(bytes);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        auto const raw = reader.get_raw(lengths[i]);
        nodes[i] = {.bytes{raw.begin(), raw.end()}, .depth = depths[i], .priority = priorities[i]};
    }
    return nodes;
}

Checkpoint parse(fs::path const& file) {
    return h5::reading(file, [&] {
        auto const opened = h5::open_to_read(file);
        h5::check_schema(file, opened, format);
        Checkpoint checkpoint;
        read_values(opened, checkpoint);
        checkpoint.open = read_open(opened);
        return checkpoint;
    });
}

/// Why the file is not a whole checkpoint; empty if it is.
std::string damage_of(fs::path const& file) {
    if (!fs::exists(file)) return "it is missing";
    try {
        return damage(read_whole(file));
    } catch (base::InputError const& error) {
        return error.what();
    }
}

std::string fallback_warning(fs::path const& newest, std::string const& why, fs::path const& taken) {
    if (why.empty()) return {};
    return fmt::format("{}: {}: going on from {}, which is as good but may repeat some work", newest.string(), why,
                       taken.filename().string());
}

} // namespace

void write_checkpoint(fs::path const& folder, Checkpoint const& checkpoint) {
    auto const newest = folder / newest_name;
    auto content = h5::writing(newest, [&] { return image(checkpoint); });
    seal(content);
    write_synced(temporary_name(newest), content);
    // Killed between the two: the previous one is there, and it is the last that was committed.
    if (fs::exists(newest)) rename_synced(newest, folder / previous_name);
    rename_synced(temporary_name(newest), newest);
}

std::optional<LoadedCheckpoint> read_checkpoint(fs::path const& folder) {
    auto const newest = folder / newest_name;
    auto const previous = folder / previous_name;
    auto const unnamed =
        temporary_name(newest); // whole if the writer was killed while renaming; else it counts as none
    auto const why = damage_of(newest);
    for (auto const& file : {newest, previous, unnamed})
        if (file == newest ? why.empty() : damage_of(file).empty())
            return LoadedCheckpoint{parse(file), fallback_warning(newest, why, file)};
    if (!fs::exists(newest) && !fs::exists(previous)) return std::nullopt;
    throw base::InputError(
        "{}: {}; {}: {} (none of the run's checkpoints is whole, so it cannot go on): --force starts the run "
        "again",
        newest.string(), why, previous.filename().string(), damage_of(previous));
}

void close_interrupted(RunRecord& record, Checkpoint const& checkpoint) {
    if (record.executions.empty() || record.executions.back().stop_reason != "running") return;
    auto seconds = checkpoint.total_seconds;
    auto cpu_seconds = checkpoint.total_cpu_seconds;
    auto& killed = record.executions.back();
    for (auto const& execution : record.executions) {
        if (&execution == &killed) continue;
        seconds -= execution.seconds;
        cpu_seconds -= execution.cpu_seconds;
    }
    killed.stop_reason = "interrupted";
    killed.seconds = std::max(seconds, 0.0);
    killed.cpu_seconds = std::max(cpu_seconds, 0.0);
}

} // namespace espalier::store
