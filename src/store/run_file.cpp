#include "espalier/store/run_file.hpp"

#include "espalier/base/contract.hpp"
#include "espalier/store/checkpoint.hpp"

#include "files.hpp"
#include "h5_errors.hpp"
#include "run_image.hpp"
#include "seal.hpp"

namespace espalier::store {

struct RunWriter::Encoded {
    EncodedResults results;
};

RunWriter::RunWriter() : encoded_(std::make_unique<Encoded>()) {}
RunWriter::~RunWriter() = default;
RunWriter::RunWriter(RunWriter&&) noexcept = default;

EncodedResults& RunWriter::results() { return encoded_->results; }

void RunWriter::write(std::filesystem::path const& file, RunRecord const& record) {
    ESP_EXPECT(record.counts.funnel.size() <= record.info.reasons.size());
    ESP_EXPECT(record.counts.counters.size() <= record.info.counters.size());
    auto content = h5::writing(file, [&] {
        auto const image = h5::create_in_memory();
        write_record(image, record, results());
        return h5::image_of(image);
    });
    seal(content);
    write_synced(temporary_name(file), content);
    rename_synced(temporary_name(file), file);
}

void write_run(std::filesystem::path const& file, RunRecord const& record) { RunWriter().write(file, record); }

RunRecord read_run(std::filesystem::path const& file) {
    auto const sealed = read_sealed(file);
    if (!sealed.damage.empty())
        throw base::InputError("{}: {} (nothing in it can be trusted, so none of it is shown): {}", file.string(),
                               sealed.damage, what_can_be_saved(file.parent_path()));
    return h5::reading(file, [&] { return read_record(file, h5::open_image(sealed.image)); });
}

} // namespace espalier::store
