#pragma once

#include "espalier/problems/uts/sha1.hpp"

#include <bit>

/// What both implementations share: the message schedule.
///
/// The schedule W0..W79 is linear over GF(2) in the 16 words of the block. Blocks of siblings differ only in W5, the
/// index, so the schedule of child i is that of child 0 xor a row that depends on i alone: the rows are a table, and a
/// family pays for one schedule instead of one per child.
namespace espalier::problems::uts {

using Block = std::array<std::uint32_t, 16>;

inline constexpr Sha1State sha1_start{0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};

/// W0..W79 in groups of four, each group with its first word last: the order of lanes that SHA-NI wants.
struct alignas(16) Schedule {
    std::array<std::uint32_t, 80> words;

    constexpr std::uint32_t& operator[](std::size_t t) { return words[t ^ 3]; }
    constexpr std::uint32_t operator[](std::size_t t) const { return words[t ^ 3]; }
};

constexpr Schedule schedule_of(Block const& block) {
    Schedule w{};
    for (std::size_t t = 0; t < 16; ++t) w[t] = block[t];
    for (std::size_t t = 16; t < 80; ++t) w[t] = std::rotl(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
    return w;
}

/// The padded block of child 0: 24 bytes of message.
constexpr Block first_child_block(Sha1State const& parent) {
    return {parent[0], parent[1], parent[2], parent[3], parent[4], 0, 0x80000000u, 0, 0, 0, 0, 0, 0, 0, 0, 24 * 8};
}

constexpr Schedule index_row(std::uint32_t index) { return schedule_of({0, 0, 0, 0, 0, index}); }

/// Rows of the indices that occur below the root; larger ones (children of a binomial root) are made when needed.
inline constexpr std::uint32_t tabulated_indices = 128;
inline constexpr auto index_rows = [] {
    std::array<Schedule, tabulated_indices> rows{};
    for (std::uint32_t i = 0; i < tabulated_indices; ++i) rows[i] = index_row(i);
    return rows;
}();

/// Where the row of an index is; `spare` holds it if it is not in the table.
inline Schedule const* find_index_row(std::uint32_t index, Schedule& spare) {
    if (index < tabulated_indices) return &index_rows[index];
    spare = index_row(index);
    return &spare;
}

/// One step of a general hash: `state` is changed by one block.
void compress_portable(Sha1State& state, Block const& block);
void compress_sha_ni(Sha1State& state, Block const& block);
void hash_children_portable(Sha1State const& parent, std::uint32_t first, std::uint32_t count, Sha1State* out);
void hash_children_sha_ni(Sha1State const& parent, std::uint32_t first, std::uint32_t count, Sha1State* out);

} // namespace espalier::problems::uts
