#include "espalier/store/checkpoint.hpp"

#include "files.hpp"
#include "h5_errors.hpp"
#include "run_image.hpp"
#include "seal.hpp"
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

void write_values(hid_t file, Checkpoint const& checkpoint) {
    h5::set_schema(file, format);
    h5::set<std::uint64_t>(file, "identity_hash", checkpoint.identity_hash);
    h5::set<std::uint64_t>(file, "number", checkpoint.number);
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
        .numbers("first", h5::project(checkpoint.emits, &EmitExtent::first))
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
    h5::write_list<std::byte>(at, "bytes", joined_bytes(nodes), h5::Filter::none); // hashes gain nothing by it
    h5::write_list<std::uint32_t>(at, "lengths", h5::project(nodes, length));
    h5::write_list<std::int32_t>(at, "depths", h5::project(nodes, &search::PackedNode::depth));
    h5::write_list<double>(at, "priorities", h5::project(nodes, &search::PackedNode::priority));
}

base::Bytes image(Checkpoint const& checkpoint, RunRecord const& record, EncodedResults& results) {
    auto const file = h5::create_in_memory();
    write_values(file, checkpoint);
    write_open(file, checkpoint.open);
    write_record(h5::make_group(file, "run"), record, results);
    return h5::image_of(file);
}

void read_values(hid_t file, Checkpoint& checkpoint) {
    checkpoint.identity_hash = h5::get<std::uint64_t>(file, "identity_hash");
    checkpoint.number = h5::get<std::uint64_t>(file, "number");
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
    auto const firsts = emits.has("first") ? emits.numbers<std::uint64_t>("first") : std::vector<std::uint64_t>{};
    for (std::size_t i = 0; i < files.size(); ++i)
        checkpoint.emits.push_back({files[i], records[i], firsts.empty() ? 0 : firsts[i]});
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

/// A checkpoint file that was examined.
struct Found {
    fs::path file;
    std::string damage; ///< `it is missing`, or why it is not intact
    base::Bytes image;
    std::uint64_t number = 0;

    [[nodiscard]] bool is_intact() const { return damage.empty(); }
};

Found find(fs::path const& file) {
    if (!fs::exists(file)) return {file, "it is missing", {}};
    auto sealed = read_sealed(file);
    if (!sealed.damage.empty()) return {file, sealed.damage, {}};
    auto const number = h5::reading(file, [&] {
        auto const opened = h5::open_image(sealed.image);
        h5::check_schema(file, opened, format);
        return h5::get<std::uint64_t>(opened, "number");
    });
    return {file, {}, std::move(sealed.image), number};
}

LoadedCheckpoint parse(Found const& found) {
    return h5::reading(found.file, [&] {
        auto const opened = h5::open_image(found.image);
        LoadedCheckpoint loaded;
        read_values(opened, loaded.checkpoint);
        loaded.checkpoint.open = read_open(opened);
        loaded.record = read_record(found.file, h5::open_group(opened, "run"));
        return loaded;
    });
}

std::string warning_for(Found const& newest, Found const& taken) {
    if (newest.file == taken.file) return {};
    return fmt::format("{}: {}: resuming from {}, which is intact but may repeat some work", newest.file.string(),
                       newest.is_intact() ? "it is older than another one" : newest.damage,
                       taken.file.filename().string());
}

} // namespace

void write_checkpoint(fs::path const& folder, Checkpoint const& checkpoint, RunRecord const& record,
                      RunWriter& writer) {
    auto const newest = folder / newest_name;
    auto content = h5::writing(newest, [&] { return image(checkpoint, record, writer.results()); });
    seal(content);
    write_synced(temporary_name(newest), content);
    // Killed between the two: the previous one exists and is the last that was committed.
    if (fs::exists(fs::symlink_status(newest))) rename_synced(newest, folder / previous_name);
    rename_synced(temporary_name(newest), newest);
}

void write_checkpoint(fs::path const& folder, Checkpoint const& checkpoint, RunRecord const& record) {
    RunWriter writer;
    write_checkpoint(folder, checkpoint, record, writer);
}

/// A temporary file is intact if its writer was killed while renaming; otherwise it does not count.
std::optional<LoadedCheckpoint> read_checkpoint(fs::path const& folder) {
    std::array const files{find(folder / newest_name), find(folder / previous_name),
                           find(temporary_name(folder / newest_name))};
    auto const age = [](Found const& found) { return found.is_intact() ? found.number + 1 : 0; };
    if (auto const& best = *std::ranges::max_element(files, {}, age); best.is_intact()) {
        auto loaded = parse(best);
        loaded.warning = warning_for(files[0], best);
        return loaded;
    }
    if (!fs::exists(files[0].file) && !fs::exists(files[1].file)) return std::nullopt;
    throw base::InputError(
        "{}: {}; {}: {} (none of the run's checkpoints is intact, so it cannot be resumed): --force starts the run "
        "again",
        files[0].file.string(), files[0].damage, files[1].file.filename().string(), files[1].damage);
}

std::string what_can_be_saved(fs::path const& folder) {
    constexpr auto nothing =
        "there is no intact checkpoint either, so nothing can be saved: --force starts the run again";
    try {
        auto const loaded = read_checkpoint(folder);
        if (!loaded) return nothing;
        return fmt::format("its checkpoint is intact ({} nodes, {} results): `espalier search EXPERIMENT --repair` "
                           "resumes from it, --force starts the run again",
                           loaded->checkpoint.counts.nodes, loaded->record.results.size());
    } catch (base::InputError const&) {
        return nothing;
    }
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
