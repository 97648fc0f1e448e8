#include "sha1_schedule.hpp"

namespace espalier::problems::uts {
namespace {

/// The round functions and constants of FIPS 180-4, by t / 20.
template <int Phase>
constexpr std::uint32_t mix(std::uint32_t b, std::uint32_t c, std::uint32_t d) {
    if constexpr (Phase == 0) return ((b & (c ^ d)) ^ d) + 0x5A827999u;
    if constexpr (Phase == 1) return (b ^ c ^ d) + 0x6ED9EBA1u;
    if constexpr (Phase == 2) return ((b & c) | (d & (b | c))) + 0x8F1BBCDCu;
    if constexpr (Phase == 3) return (b ^ c ^ d) + 0xCA62C1D6u;
}

template <int Phase>
inline void twenty_rounds(Sha1State& s, Schedule const& w, Schedule const& row) {
    auto [a, b, c, d, e] = s;
    for (std::size_t t = Phase * 20; t < (Phase + 1) * 20; ++t) {
        auto const next = std::rotl(a, 5) + mix<Phase>(b, c, d) + e + (w[t] ^ row[t]);
        e = d;
        d = c;
        c = std::rotl(b, 30);
        b = a;
        a = next;
    }
    s = {a, b, c, d, e};
}

Sha1State hashed(Sha1State const& start, Schedule const& w, Schedule const& row) {
    auto s = start;
    twenty_rounds<0>(s, w, row);
    twenty_rounds<1>(s, w, row);
    twenty_rounds<2>(s, w, row);
    twenty_rounds<3>(s, w, row);
    for (std::size_t i = 0; i < s.size(); ++i) s[i] += start[i];
    return s;
}

} // namespace

void compress_portable(Sha1State& state, Block const& block) {
    state = hashed(state, schedule_of(block), index_rows[0]);
}

void hash_children_portable(Sha1State const& parent, std::uint32_t first, std::uint32_t count, Sha1State* out) {
    auto const w = schedule_of(first_child_block(parent));
    Schedule spare;
    for (std::uint32_t i = 0; i < count; ++i) out[i] = hashed(sha1_start, w, *find_index_row(first + i, spare));
}

} // namespace espalier::problems::uts
