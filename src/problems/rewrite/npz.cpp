#include "npz.hpp"

#include "npy.hpp"

#include "espalier/base/crc.hpp"
#include "espalier/base/text.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>

namespace espalier::problems::rewrite {
namespace {

using base::InputError;
using base::SystemError;

/// Where a file of the zip stands, as its directory says.
struct Entry {
    std::string name;
    std::uint16_t flags = 0;
    std::uint16_t method = 0;
    std::uint32_t checksum = 0;
    std::uint64_t stored_bytes = 0;
    std::uint64_t bytes = 0;
    std::uint64_t start = 0; ///< of what stands before its data
};

constexpr std::uint32_t local_mark = 0x04034b50, entry_mark = 0x02014b50, end_mark = 0x06054b50;
constexpr std::size_t local_bytes = 30, entry_bytes = 46, end_bytes = 22;
constexpr std::uint16_t utf8_flag = 1u << 11, encrypted_flag = 1, version_needed = 20, extra_of_large = 1;
constexpr std::uint16_t january_1980 = 1 << 5 | 1; // the first day that a zip knows
constexpr auto at_most_32 = std::numeric_limits<std::uint32_t>::max();
constexpr auto most_files = std::numeric_limits<std::uint16_t>::max();
constexpr std::string_view suffix = ".npy";

std::span<std::byte const> bytes_of_text(std::string_view text) { return std::as_bytes(std::span(text)); }

// --- writing

/// What both descriptions of a file share.
void put_common(base::ByteWriter& writer, Entry const& entry) {
    writer.put(version_needed);
    writer.put(utf8_flag);
    writer.put(std::uint16_t{0}); // stored
    writer.put(std::uint16_t{0}); // midnight
    writer.put(january_1980);
    writer.put(entry.checksum);
    writer.put(static_cast<std::uint32_t>(entry.bytes));
    writer.put(static_cast<std::uint32_t>(entry.bytes));
    writer.put(static_cast<std::uint16_t>(entry.name.size()));
    writer.put(std::uint16_t{0}); // no extras
}

void put_directory_entry(base::ByteWriter& writer, Entry const& entry) {
    writer.put(entry_mark);
    writer.put(version_needed);
    put_common(writer, entry);
    writer.put(std::uint16_t{0}); // no comment
    writer.put(std::uint16_t{0}); // on the first disk
    writer.put(std::uint16_t{0});
    writer.put(std::uint32_t{0}); // no attributes
    writer.put(static_cast<std::uint32_t>(entry.start));
    writer.put_raw(bytes_of_text(entry.name));
}

void check_fits(base::Bytes const& out, std::string const& name) {
    if (out.size() > at_most_32)
        throw InputError("{}: the tensors have more than 4 GB in all (a .npz file holds no more): use smaller ones",
                         base::printable(name));
}

// --- reading

class Zip {
public:
    Zip(std::span<std::byte const> bytes, std::string const& file) : bytes_(bytes), file_(file) {}

    [[nodiscard]] std::vector<Entry> entries() const {
        auto end = reader_at(end_of_directory() + 4, end_bytes - 4);
        auto const disks = end.get<std::uint32_t>();
        auto const here = end.get<std::uint16_t>(), count = end.get<std::uint16_t>();
        auto const size = end.get<std::uint32_t>(), start = end.get<std::uint32_t>();
        if (disks != 0 || here != count || start == at_most_32 || count == most_files)
            refuse("is too large, or has several parts");
        base::ByteReader directory = reader_at(start, size);
        std::vector<Entry> out;
        auto left = bytes_.size(); // no byte belongs to two files
        for (int i = 0; i < count; ++i) {
            out.push_back(next(directory));
            if (out.back().stored_bytes > left) refuse("is damaged");
            left -= out.back().stored_bytes;
        }
        return out;
    }
    /// Its data, checked.
    [[nodiscard]] std::span<std::byte const> data(Entry const& entry) const {
        auto local = reader_at(entry.start, local_bytes);
        if (local.get<std::uint32_t>() != local_mark) refuse("is damaged");
        static_cast<void>(local.get_raw(local_bytes - 8));
        auto const name = local.get<std::uint16_t>(), extras = local.get<std::uint16_t>();
        auto out = reader_at(entry.start + local_bytes + name + extras, entry.bytes).get_raw(entry.bytes);
        if (base::crc32(out) != entry.checksum) refuse("is damaged (a checksum is wrong)");
        return out;
    }

private:
    [[noreturn]] void refuse(std::string_view problem) const {
        throw InputError("{}: the file {}: write it with numpy.savez", file_, problem);
    }
    [[nodiscard]] base::ByteReader reader_at(std::uint64_t start, std::uint64_t size) const {
        if (start > bytes_.size() || size > bytes_.size() - start) refuse("is not a whole .npz file");
        return base::ByteReader(bytes_.subspan(start, size));
    }
    /// The end of the directory is the end of the file, unless there is a comment.
    [[nodiscard]] std::size_t end_of_directory() const {
        if (bytes_.size() < end_bytes) refuse("is not a whole .npz file");
        constexpr std::size_t longest_comment = 65535;
        auto const last = bytes_.size() - end_bytes;
        for (auto back = std::size_t{0}; back <= std::min(last, longest_comment); ++back) {
            std::uint32_t mark = 0;
            std::memcpy(&mark, bytes_.data() + last - back, sizeof(mark));
            if (mark == end_mark) return last - back;
        }
        refuse("is not a whole .npz file");
    }
    [[nodiscard]] Entry next(base::ByteReader& directory) const {
        if (directory.left() < entry_bytes || directory.get<std::uint32_t>() != entry_mark) refuse("is damaged");
        Entry out;
        static_cast<void>(directory.get<std::uint32_t>()); // versions
        out.flags = directory.get<std::uint16_t>();
        out.method = directory.get<std::uint16_t>();
        static_cast<void>(directory.get<std::uint32_t>()); // when
        out.checksum = directory.get<std::uint32_t>();
        out.stored_bytes = directory.get<std::uint32_t>();
        out.bytes = directory.get<std::uint32_t>();
        auto const name = directory.get<std::uint16_t>(), extras = directory.get<std::uint16_t>(),
                   comment = directory.get<std::uint16_t>();
        static_cast<void>(directory.get_raw(8)); // disk, attributes
        out.start = directory.get<std::uint32_t>();
        if (std::size_t{name} + extras + comment > directory.left()) refuse("is damaged");
        auto const text = directory.get_raw(name);
        out.name.assign(reinterpret_cast<char const*>(text.data()), text.size());
        widen(out, directory.get_raw(extras));
        static_cast<void>(directory.get_raw(comment));
        return out;
    }
    /// Numbers that do not fit into 32 bits stand in an extra, in this order.
    void widen(Entry& entry, std::span<std::byte const> extras) const {
        base::ByteReader reader(extras);
        while (reader.left() >= 4) {
            auto const kind = reader.get<std::uint16_t>(), size = reader.get<std::uint16_t>();
            if (size > reader.left()) refuse("is damaged");
            base::ByteReader extra(reader.get_raw(size));
            if (kind != extra_of_large) continue;
            for (auto* const number : {&entry.bytes, &entry.stored_bytes, &entry.start})
                if (*number == at_most_32 && extra.left() >= 8) *number = extra.get<std::uint64_t>();
        }
    }

    std::span<std::byte const> bytes_;
    std::string const& file_;
};

void check_plain(Entry const& entry, std::string const& called) {
    if ((entry.flags & encrypted_flag) != 0) throw InputError("{}: it is encrypted: write it with numpy.savez", called);
    if (entry.method != 0 || entry.stored_bytes != entry.bytes)
        throw InputError("{}: it is compressed: write it with numpy.savez, not savez_compressed", called);
}

} // namespace

base::Bytes to_npz(Tensors const& tensors) {
    if (tensors.size() >= most_files)
        throw InputError("{} tensors: a .npz file holds fewer than {}: use fewer", tensors.size(), most_files);
    base::Bytes out;
    base::ByteWriter writer(out);
    std::vector<Entry> entries;
    for (auto const& [name, tensor] : tensors) {
        auto const data = to_npy(tensor, base::printable(name));
        entries.push_back(
            {name + std::string(suffix), utf8_flag, 0, base::crc32(data), data.size(), data.size(), out.size()});
        if (entries.back().name.size() > std::numeric_limits<std::uint16_t>::max())
            throw InputError("{}: the name is too long for a .npz file: use a shorter one",
                             base::printable(name.substr(0, 80)));
        writer.put(local_mark);
        put_common(writer, entries.back());
        writer.put_raw(bytes_of_text(entries.back().name));
        writer.put_raw(data);
        check_fits(out, name);
    }
    auto const start = out.size();
    for (auto const& entry : entries) put_directory_entry(writer, entry);
    auto const size = out.size() - start;
    check_fits(out, "the directory");
    writer.put(end_mark);
    writer.put(std::uint32_t{0}); // one disk
    writer.put(static_cast<std::uint16_t>(entries.size()));
    writer.put(static_cast<std::uint16_t>(entries.size()));
    writer.put(static_cast<std::uint32_t>(size));
    writer.put(static_cast<std::uint32_t>(start));
    writer.put(std::uint16_t{0}); // no comment
    return out;
}

Tensors parse_npz(std::span<std::byte const> bytes, std::string const& file) {
    Zip const zip(bytes, file);
    Tensors out;
    for (auto const& entry : zip.entries()) {
        auto const called = file + ", " + base::printable(entry.name);
        check_plain(entry, called);
        auto const name =
            entry.name.ends_with(suffix) ? entry.name.substr(0, entry.name.size() - suffix.size()) : entry.name;
        if (!out.emplace(name, parse_npy(zip.data(entry), called)).second)
            throw InputError("{}: it is there twice: write it with numpy.savez", called);
    }
    return out;
}

void write_npz(std::filesystem::path const& file, Tensors const& tensors) {
    auto const bytes = to_npz(tensors);
    std::ofstream out(file, std::ios::binary);
    out.write(reinterpret_cast<char const*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    out.close();
    if (!out) throw SystemError("{}: cannot be written ({}): make space there", file.string(), std::strerror(errno));
}

Tensors read_npz(std::filesystem::path const& file) {
    auto const called = base::printable(file.string());
    std::error_code missing;
    if (!std::filesystem::is_regular_file(file, missing)) throw InputError("{}: no such file: write it first", called);
    std::ifstream in(file, std::ios::binary);
    base::Bytes bytes(std::filesystem::file_size(file));
    in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!in) throw InputError("{}: cannot be read: make it readable", called);
    return parse_npz(bytes, called);
}

} // namespace espalier::problems::rewrite
