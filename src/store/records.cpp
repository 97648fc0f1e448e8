#include "espalier/store/records.hpp"

#include "emit_reader.hpp"
#include "files.hpp"
#include "h5_errors.hpp"
#include "run_parts.hpp"
#include "seal.hpp"
#include "table.hpp"

#include <chrono>
#include <map>
#include <mutex>
#include <thread>

namespace espalier::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view list_format = "espalier list of emitted records";
constexpr std::size_t most_open = 64; ///< shards at a time
constexpr int most_tries = 20;        ///< to read one that is still being written

base::Bytes image(std::vector<EmitExtent> const& shards) {
    auto const file = h5::create_in_memory();
    h5::set_schema(file, list_format);
    h5::TableWriter(shards.size())
        .texts("file", h5::project(shards, &EmitExtent::file))
        .numbers("records", h5::project(shards, &EmitExtent::records))
        .numbers("first", h5::project(shards, &EmitExtent::first))
        .write(file, "shards");
    return h5::image_of(file);
}

/// Names of files come from the list: none of them may lead out of the run folder.
fs::path shard_file(fs::path const& folder, std::string const& name) {
    fs::path const path(name);
    if (path.is_absolute() || path.begin() == path.end() || *path.begin() != "emit" || name.find("..") != name.npos)
        throw h5::Failure(fmt::format("it names {}, which is not a shard of this run", name));
    return folder / path;
}

} // namespace

fs::path record_list_name(RecordListName name) {
    return fs::path("emit") / fmt::format("segment-{:03}", name.segment) / fmt::format("stage-{:03}.h5", name.stage);
}

void write_record_list(fs::path const& folder, RecordListName name, std::vector<EmitExtent> const& shards) {
    auto const file = folder / record_list_name(name);
    static_cast<void>(make_part_folders(file));
    auto content = h5::writing(file, [&] { return image(shards); });
    seal(content);
    write_synced(temporary_name(file), content);
    rename_synced(temporary_name(file), file);
}

std::vector<EmitExtent> read_record_list(fs::path const& folder, RecordListName name) {
    auto const file = folder / record_list_name(name);
    return h5::reading(file, [&] {
        auto const sealed = read_sealed(file);
        if (!sealed.damage.empty()) throw h5::Failure(sealed.damage);
        auto const opened = h5::open_image(sealed.image);
        h5::check_schema(file, opened, list_format);
        h5::TableReader const table(opened, "shards");
        auto const files = table.texts("file");
        auto const records = table.numbers<std::uint64_t>("records");
        auto const firsts = table.numbers<std::uint64_t>("first");
        std::vector<EmitExtent> shards;
        for (std::size_t i = 0; i < files.size(); ++i) shards.push_back({files[i], records[i], firsts[i]});
        return shards;
    });
}

/// The list of one stage and the shards that were read last.
struct ListedRecords::Open {
    std::mutex mutex;
    std::pair<int, int> name{0, 0}; ///< of the list: segment and stage
    std::vector<EmitExtent> shards;
    std::map<std::string, std::unique_ptr<EmitReader>> readers;

    EmitReader& reader(fs::path const& file) {
        auto& place = readers[file.string()];
        if (place) return *place;
        if (readers.size() > most_open) {
            readers.clear();
            return reader(file);
        }
        place = std::make_unique<EmitReader>(file);
        return *place;
    }
    void read(fs::path const& file, EmitReader::Part const& part, base::StopToken const& stop,
              std::vector<search::EmitRecord>& out) {
        for (int tries = 1;; ++tries) {
            auto const before = out.size();
            auto& opened = reader(file);
            try {
                if (opened.rows() >= part.end_row) return opened.read(part, stop, out);
            } catch (h5::Failure const&) {
                if (!opened.has_changed() || tries == most_tries) throw;
            }
            if (tries == most_tries || (opened.rows() < part.end_row && !opened.has_changed()))
                throw h5::Failure(fmt::format("has {} records, but {} were committed", opened.rows(), part.end_row));
            out.resize(before);
            readers.erase(file.string());
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
};

ListedRecords::ListedRecords(fs::path folder) : folder_(std::move(folder)), open_(std::make_unique<Open>()) {}
ListedRecords::~ListedRecords() = default;

std::vector<search::EmitRecord> ListedRecords::read(search::Bucket const& bucket, base::StopToken const& stop) const {
    std::lock_guard const lock(open_->mutex);
    std::pair const name{int{bucket.list}, int{bucket.stage}};
    if (open_->name != name) {
        open_->readers.clear();
        open_->shards = read_record_list(folder_, {bucket.list, bucket.stage});
        open_->name = name;
    }
    std::vector<search::EmitRecord> records;
    for (auto const& shard : open_->shards) {
        auto const file = h5::reading(folder_, [&] { return shard_file(folder_, shard.file); });
        h5::reading(file, [&] {
            open_->read(file, {bucket.first_key(), bucket.last_key(), shard.first, shard.records}, stop, records);
        });
    }
    return records;
}

} // namespace espalier::store
