#include "page_sums.hpp"

#include "espalier/base/hash.hpp"

#include <algorithm>
#include <optional>

namespace espalier::store {
namespace {

constexpr std::uint64_t trailer_magic = 0x3153454741505345ull; // "ESPPAGES1" without its end
constexpr std::uint64_t record_magic = 0x31474F4C50534500ull;
constexpr std::size_t trailer_bytes = 32;
constexpr std::size_t record_head_bytes = 24;

enum class RecordKind : std::uint8_t { sums, pages };

base::Bytes record(base::Bytes const& body, std::uint64_t number) {
    base::Bytes bytes;
    base::ByteWriter writer(bytes);
    writer.put(record_magic);
    writer.put(static_cast<std::uint64_t>(body.size()));
    writer.put(base::hash_combine(base::hash_bytes(body), number));
    writer.put_raw(body);
    return bytes;
}

std::uint64_t pages_of(std::uint64_t end) { return (end + page_bytes - 1) / page_bytes; }

std::uint64_t sum_of(std::span<std::byte const> raw_sums, std::uint64_t end) {
    return base::hash_combine(base::hash_bytes(raw_sums), end);
}

std::vector<std::uint64_t> unpacked(std::span<std::byte const> raw) {
    std::vector<std::uint64_t> sums(raw.size() / sizeof(std::uint64_t));
    if (!sums.empty()) std::memcpy(sums.data(), raw.data(), raw.size());
    return sums;
}

/// Nothing if the file does not end in a trailer.
std::optional<PageSums> read_trailer(Descriptor const& shard) {
    auto const size = size_of(shard);
    base::Bytes last(trailer_bytes);
    if (size < trailer_bytes || !read_at(shard, size - trailer_bytes, last)) return std::nullopt;
    base::ByteReader reader(last);
    auto const end = reader.get<std::uint64_t>();
    auto const count = reader.get<std::uint64_t>();
    auto const hash = reader.get<std::uint64_t>();
    if (reader.get<std::uint64_t>() != trailer_magic || end > size || count != pages_of(end) ||
        size != end + count * sizeof(std::uint64_t) + trailer_bytes)
        return std::nullopt;
    base::Bytes raw(count * sizeof(std::uint64_t));
    if (!read_at(shard, end, raw) || sum_of(raw, end) != hash) return std::nullopt;
    return PageSums{unpacked(raw), end};
}

/// Reads a log record by record, so that a size is never trusted beyond what is there.
class LogReader {
public:
    explicit LogReader(Descriptor const& log) : log_(log), size_(size_of(log)) {}

    /// The body of the next record; nothing at the end, or if a killed writer did not finish it.
    std::optional<base::Bytes> next() {
        base::Bytes head(record_head_bytes);
        if (size_ - at_ < head.size() || !read_at(log_, at_, head)) return std::nullopt;
        base::ByteReader reader(head);
        auto const is_record = reader.get<std::uint64_t>() == record_magic;
        auto const size = reader.get<std::uint64_t>();
        if (!is_record || size == 0 || size > size_ - at_ - head.size()) return std::nullopt;
        base::Bytes body(size);
        if (!read_at(log_, at_ + head.size(), body)) return std::nullopt;
        if (base::hash_combine(base::hash_bytes(body), number_) != reader.get<std::uint64_t>()) return std::nullopt;
        at_ += head.size() + size;
        ++number_;
        return body;
    }
    [[nodiscard]] std::uint64_t records() const { return number_; }

private:
    Descriptor const& log_;
    std::uint64_t size_;
    std::uint64_t at_ = 0;
    std::uint64_t number_ = 0;
};

void apply(base::ByteReader body, KnownPages& known) {
    auto const kind = body.get<RecordKind>();
    auto const end = body.get<std::uint64_t>();
    if (kind == RecordKind::sums) {
        known = {{unpacked(body.get_raw(body.left())), end}, {}};
        return;
    }
    Pages pages;
    while (body.left() > 0) {
        auto const page = body.get<std::uint64_t>();
        auto const raw = body.get_raw(page_bytes);
        pages[page].assign(raw.begin(), raw.end());
    }
    known.sums.set(pages, end);
    for (auto& [page, bytes] : pages) known.pages[page] = std::move(bytes);
}

/// Up to the first incomplete record. If that is not where the writer ended, the pages show it.
KnownPages replay(Descriptor const& log) {
    KnownPages known;
    LogReader reader(log);
    while (auto const body = reader.next()) apply(base::ByteReader(*body), known);
    if (reader.records() == 0) throw base::InputError("its log is damaged, or its writer was killed at the very start");
    return known;
}

} // namespace

std::uint64_t page_sum(std::uint64_t page, std::span<std::byte const> bytes) {
    return std::max<std::uint64_t>(1, base::hash_combine(base::hash_bytes(bytes), page));
}

void PageSums::set(Pages const& pages, std::uint64_t new_end) {
    end = std::max(end, new_end);
    auto const last = pages.empty() ? 0 : pages.rbegin()->first + 1;
    sums.resize(std::max<std::uint64_t>({sums.size(), pages_of(end), last}));
    for (auto const& [page, bytes] : pages) sums[page] = page_sum(page, bytes);
}

std::filesystem::path log_name(std::filesystem::path const& shard) { return shard.string() + ".log"; }

base::Bytes pages_record(Pages const& pages, std::uint64_t end, std::uint64_t number) {
    base::Bytes body;
    base::ByteWriter writer(body);
    writer.put(RecordKind::pages);
    writer.put(end);
    for (auto const& [page, bytes] : pages) {
        writer.put(page);
        writer.put_raw(bytes);
    }
    return record(body, number);
}

base::Bytes sums_record(PageSums const& sums, std::uint64_t number) {
    base::Bytes body;
    base::ByteWriter writer(body);
    writer.put(RecordKind::sums);
    writer.put(sums.end);
    writer.put_raw(std::as_bytes(std::span(sums.sums)));
    return record(body, number);
}

base::Bytes trailer(PageSums const& sums) {
    auto const raw = std::as_bytes(std::span(sums.sums));
    base::Bytes bytes(raw.begin(), raw.end());
    base::ByteWriter writer(bytes);
    writer.put(sums.end);
    writer.put(static_cast<std::uint64_t>(sums.sums.size()));
    writer.put(sum_of(raw, sums.end));
    writer.put(trailer_magic);
    return bytes;
}

KnownPages known_pages(Descriptor const& shard, std::filesystem::path const& file) {
    if (auto sums = read_trailer(shard)) return {std::move(*sums), {}};
    std::error_code ignored;
    if (!std::filesystem::exists(log_name(file), ignored))
        throw base::InputError("its checksums are missing or wrong (it is damaged, another program changed it, or an "
                               "older espalier wrote it)");
    return replay(open_plain(log_name(file)));
}

} // namespace espalier::store
