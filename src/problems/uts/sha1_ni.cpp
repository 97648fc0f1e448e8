#include "sha1_schedule.hpp"

#if defined(__x86_64__)

#include <algorithm>
#include <immintrin.h>

#define ESP_SHA_NI __attribute__((target("sha,sse4.1,ssse3")))
#define ESP_SHA_NI_INLINE __attribute__((target("sha,sse4.1,ssse3"), always_inline)) inline

/// The SHA instructions do four rounds each, on words (a, b, c, d) with a in the highest lane. A chain of them waits
/// for its own results most of the time, so several siblings go through the rounds together.
namespace espalier::problems::uts {
namespace {

constexpr int max_lanes = 5; // siblings at once; many more would not fit into the registers

struct Words {
    __m128i abcd;
    __m128i e; ///< in the highest lane
};

/// What siblings have in common.
struct Family {
    Words start;
    __m128i after_four_rounds; ///< abcd; the index comes in round 5
    __m128i groups[20];        ///< the schedule of child 0
};

ESP_SHA_NI_INLINE Words load(Sha1State const& s) {
    auto const in_order = _mm_loadu_si128(reinterpret_cast<__m128i const*>(s.data()));
    return {_mm_shuffle_epi32(in_order, 0x1B), _mm_set_epi32(static_cast<int>(s[4]), 0, 0, 0)};
}

ESP_SHA_NI_INLINE void store(Words words, Sha1State& s) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(s.data()), _mm_shuffle_epi32(words.abcd, 0x1B));
    s[4] = static_cast<std::uint32_t>(_mm_extract_epi32(words.e, 3));
}

ESP_SHA_NI_INLINE Family family_of(Sha1State const& start, Block const& block) {
    Family f;
    f.start = load(start);
    for (int g = 0; g < 4; ++g) {
        auto const in_order = _mm_loadu_si128(reinterpret_cast<__m128i const*>(block.data()) + g);
        f.groups[g] = _mm_shuffle_epi32(in_order, 0x1B);
    }
    for (int g = 4; g < 20; ++g) {
        auto const partial = _mm_xor_si128(_mm_sha1msg1_epu32(f.groups[g - 4], f.groups[g - 3]), f.groups[g - 2]);
        f.groups[g] = _mm_sha1msg2_epu32(partial, f.groups[g - 1]);
    }
    f.after_four_rounds = _mm_sha1rnds4_epu32(f.start.abcd, _mm_add_epi32(f.start.e, f.groups[0]), 0);
    return f;
}

/// The state of N siblings between groups of four rounds; e follows from the abcd of four rounds ago.
template <int N>
struct Lanes {
    __m128i abcd[N];
    __m128i before[N];
    __m128i const* row[N];
};

template <int Phase, int N>
ESP_SHA_NI_INLINE void run_groups(Lanes<N>& lanes, Family const& f, int from) {
#pragma GCC unroll 5
    for (int g = from; g < (Phase + 1) * 5; ++g) {
#pragma GCC unroll 8
        for (int i = 0; i < N; ++i) {
            auto const w = _mm_xor_si128(f.groups[g], _mm_load_si128(lanes.row[i] + g));
            auto const e = _mm_sha1nexte_epu32(lanes.before[i], w);
            lanes.before[i] = lanes.abcd[i];
            lanes.abcd[i] = _mm_sha1rnds4_epu32(lanes.abcd[i], e, Phase);
        }
    }
}

/// Children first .. first + N - 1.
template <int N>
ESP_SHA_NI_INLINE void hash_lanes(Family const& f, std::uint32_t first, Sha1State* out) {
    Schedule spare[N];
    Lanes<N> lanes;
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) {
        lanes.abcd[i] = f.after_four_rounds;
        lanes.before[i] = f.start.abcd;
        lanes.row[i] = reinterpret_cast<__m128i const*>(find_index_row(first + i, spare[i])->words.data());
    }
    run_groups<0>(lanes, f, 1);
    run_groups<1>(lanes, f, 5);
    run_groups<2>(lanes, f, 10);
    run_groups<3>(lanes, f, 15);
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) {
        auto const e = _mm_sha1nexte_epu32(lanes.before[i], f.start.e);
        store({_mm_add_epi32(lanes.abcd[i], f.start.abcd), e}, out[i]);
    }
}

/// Children first .. first + n - 1; n <= max_lanes.
ESP_SHA_NI_INLINE void hash_some(Family const& f, std::uint32_t first, std::uint32_t n, Sha1State* out) {
    if (n == 1) return hash_lanes<1>(f, first, out);
    if (n == 2) return hash_lanes<2>(f, first, out);
    if (n == 3) return hash_lanes<3>(f, first, out);
    if (n == 4) return hash_lanes<4>(f, first, out);
    hash_lanes<max_lanes>(f, first, out);
}

} // namespace

ESP_SHA_NI void compress_sha_ni(Sha1State& state, Block const& block) {
    hash_lanes<1>(family_of(state, block), 0, &state); // row 0 is zero
}

ESP_SHA_NI void hash_children_sha_ni(Sha1State const& parent, std::uint32_t first, std::uint32_t count,
                                     Sha1State* out) {
    auto const f = family_of(sha1_start, first_child_block(parent));
    while (count > 0) {
        auto const n = std::min<std::uint32_t>(count, max_lanes);
        hash_some(f, first, n, out);
        first += n;
        out += n;
        count -= n;
    }
}

} // namespace espalier::problems::uts

#else // other CPUs: is_supported() says no, and nobody calls these

namespace espalier::problems::uts {
void compress_sha_ni(Sha1State& state, Block const& block) { compress_portable(state, block); }
void hash_children_sha_ni(Sha1State const& parent, std::uint32_t first, std::uint32_t count, Sha1State* out) {
    hash_children_portable(parent, first, count, out);
}
} // namespace espalier::problems::uts

#endif
