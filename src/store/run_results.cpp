#include "run_image.hpp"

#include "table.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace espalier::store {
namespace {

using h5::project;
using search::ResultRecord;

constexpr std::uint64_t chunk_rows = 2048;
constexpr std::uint64_t chunk_bytes = 128u << 10;

h5::TableWriter table_of(std::span<ResultRecord const> results, std::uint64_t first_id) {
    std::vector<std::uint64_t> ids(results.size());
    std::iota(ids.begin(), ids.end(), first_id);
    h5::TableWriter table(results.size(), chunk_rows);
    table.numbers("id", ids)
        .numbers("key", project(results, &ResultRecord::key))
        .numbers("cost", project(results, &ResultRecord::cost))
        .numbers("error_bound", project(results, &ResultRecord::error_bound))
        .enums("verification", search::verification_names,
               project(results, [](auto const& r) { return static_cast<std::uint8_t>(r.verification); }))
        .numbers("found_s", project(results, &ResultRecord::found_s));
    return table;
}

/// Pieces of any length, one after the other, and where each of them ends.
struct Joined {
    base::Bytes bytes;
    std::vector<std::uint64_t> ends;
};

template <class Get>
Joined joined(std::span<ResultRecord const> results, std::uint64_t first, Get get) {
    Joined all;
    for (auto const& result : results) {
        auto const piece = std::as_bytes(std::span(std::invoke(get, result)));
        all.bytes.insert(all.bytes.end(), piece.begin(), piece.end());
        all.ends.push_back(first + all.bytes.size());
    }
    return all;
}

/// Returns where the bytes end now.
std::uint64_t append(h5::Dataset const& bytes, h5::Dataset const& offsets, Joined const& more) {
    h5::append(bytes, h5::native<std::byte>(), more.bytes.data(), more.bytes.size());
    h5::append(offsets, h5::native<std::uint64_t>(), more.ends.data(), more.ends.size());
    return more.ends.back();
}

h5::Dataset make_offsets(hid_t at, char const* name) {
    auto data = h5::make_dataset(at, name, h5::native<std::uint64_t>(), {.chunk_rows = chunk_rows});
    std::uint64_t const zero = 0;
    h5::append(data, h5::native<std::uint64_t>(), &zero, 1);
    return data;
}

h5::Dataset make_bytes(hid_t at, char const* name) {
    return h5::make_dataset(at, name, h5::native<std::byte>(), {.chunk_rows = chunk_bytes});
}

/// The pieces again: `count` of them.
std::vector<std::span<std::byte const>> pieces(base::Bytes const& bytes, std::vector<std::uint64_t> const& offsets,
                                               std::size_t count) {
    if (offsets.size() != count + 1 || !std::ranges::is_sorted(offsets) || offsets.back() > bytes.size())
        throw h5::Failure("/programs does not match /results");
    std::vector<std::span<std::byte const>> list;
    for (std::size_t i = 0; i < count; ++i)
        list.push_back(std::span(bytes).subspan(offsets[i], offsets[i + 1] - offsets[i]));
    return list;
}

void read_programs(hid_t at, std::vector<ResultRecord>& results) {
    auto const group = h5::open_group(at, "programs");
    auto const text = h5::read_list<std::byte>(group, "text");
    auto const payload = h5::read_list<std::byte>(group, "payload");
    auto const texts = pieces(text, h5::read_list<std::uint64_t>(group, "text_offsets"), results.size());
    auto const payloads = pieces(payload, h5::read_list<std::uint64_t>(group, "offsets"), results.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
        results[i].text.assign(reinterpret_cast<char const*>(texts[i].data()), texts[i].size());
        results[i].payload.assign(payloads[i].begin(), payloads[i].end());
    }
}

} // namespace

void EncodedResults::start() {
    for (auto* data : {&table_, &text_, &text_offsets_, &payload_, &offsets_}) *data = {};
    file_ = h5::create_in_memory();
    table_ = table_of({}, 0).write(file_, "results");
    h5::set_text(table_, "units", "cost=as the problem says; error_bound=probability; found_s=s");
    h5::set_text(table_, "names", "verification=" + h5::joined_names(search::verification_names));
    auto const programs = h5::make_group(file_, "programs");
    text_ = make_bytes(programs, "text");
    text_offsets_ = make_offsets(programs, "text_offsets");
    h5::set_text(text_, "encoding", "utf-8; program i is text[text_offsets[i]:text_offsets[i + 1]]");
    payload_ = make_bytes(programs, "payload");
    offsets_ = make_offsets(programs, "offsets");
    text_bytes_ = payload_bytes_ = 0;
    keys_.clear();
}

void EncodedResults::append(std::span<ResultRecord const> results) {
    if (results.empty()) return;
    table_of(results, keys_.size()).append_to(table_);
    text_bytes_ = store::append(text_, text_offsets_, joined(results, text_bytes_, &ResultRecord::text));
    payload_bytes_ = store::append(payload_, offsets_, joined(results, payload_bytes_, &ResultRecord::payload));
    for (auto const& result : results) keys_.push_back(result.key);
}

void EncodedResults::update(std::vector<ResultRecord> const& results) {
    auto const is_longer =
        results.size() >= keys_.size() &&
        std::ranges::equal(keys_, std::span(results).first(keys_.size()), {}, {}, &ResultRecord::key);
    if (file_ < 0 || !is_longer) start();
    append(std::span(results).subspan(keys_.size()));
}

void EncodedResults::copy_to(hid_t at) const {
    for (auto const* name : {"results", "programs"})
        h5::check(H5Ocopy(file_, name, at, name, H5P_DEFAULT, H5P_DEFAULT), "copy the results");
}

std::vector<ResultRecord> read_results(hid_t at) {
    h5::TableReader const table(at, "results");
    std::vector<ResultRecord> results(table.rows());
    h5::assign(results, &ResultRecord::key, table.numbers<std::uint64_t>("key"));
    h5::assign(results, &ResultRecord::cost, table.numbers<double>("cost"));
    h5::assign(results, &ResultRecord::error_bound, table.numbers<double>("error_bound"));
    h5::assign(results, &ResultRecord::found_s, table.numbers<double>("found_s"));
    auto const codes = table.enums("verification", search::verification_names.size());
    for (std::size_t i = 0; i < results.size(); ++i)
        results[i].verification = static_cast<search::Verification>(codes[i]);
    read_programs(at, results);
    return results;
}

} // namespace espalier::store
