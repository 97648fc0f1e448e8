#include "seal.hpp"

#include "files.hpp"

#include "espalier/base/hash.hpp"

#include <array>
#include <cstring>

namespace espalier::store {
namespace {

constexpr std::uint64_t magic = 0x314C414553505345ull; // "ESPSEAL1"
constexpr std::size_t seal_bytes = 24;

/// An HDF5 file of version 0 says in its first bytes where it ends.
bool is_unsealed_hdf5(Descriptor const& file, std::uint64_t size) {
    constexpr std::size_t end_at = 40;
    std::array<std::byte, 48> head{};
    if (!read_at(file, 0, head) || std::memcmp(head.data(), "\x89HDF\r\n\x1a\n", 8) != 0) return false;
    std::uint64_t end = 0;
    std::memcpy(&end, head.data() + end_at, sizeof end);
    return end == size;
}

std::string damage_without_seal(Descriptor const& file, std::uint64_t size) {
    return is_unsealed_hdf5(file, size)
               ? "it has no seal: an older espalier wrote it (schema version 1), or another program changed it"
               : "it is cut off, or its end was overwritten";
}

Sealed damaged(std::string why) { return {{}, std::move(why)}; }

Sealed read_checked(Descriptor const& file, std::uint64_t size) {
    base::Bytes content(seal_bytes);
    if (!read_at(file, size - seal_bytes, content)) return damaged("it cannot be read");
    base::ByteReader reader(content);
    auto const has_seal = reader.get<std::uint64_t>() == magic && reader.get<std::uint64_t>() == size - seal_bytes;
    if (!has_seal) return damaged(damage_without_seal(file, size));
    auto const hash = reader.get<std::uint64_t>();
    content.resize(size - seal_bytes);
    if (!read_at(file, 0, content)) return damaged("it cannot be read");
    if (base::hash_bytes(content) != hash) return damaged("its checksum is wrong");
    return {std::move(content), {}};
}

} // namespace

void seal(base::Bytes& image) {
    auto const size = image.size();
    auto const hash = base::hash_bytes(image);
    base::ByteWriter writer(image);
    writer.put(magic);
    writer.put(static_cast<std::uint64_t>(size));
    writer.put(hash);
}

Sealed read_sealed(std::filesystem::path const& file) {
    try {
        auto const opened = open_plain(file);
        auto const size = size_of(opened);
        if (size == 0) return damaged("it is empty");
        if (size <= seal_bytes) return damaged("it is cut off");
        return read_checked(opened, size);
    } catch (base::InputError const& error) {
        return damaged(error.what());
    } catch (std::bad_alloc const&) {
        return damaged("it does not fit into memory");
    }
}

} // namespace espalier::store
