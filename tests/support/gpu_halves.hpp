#pragma once

#include "espalier/codegen/gpu_text.hpp"

#include <string>

/// For kernels as C++ (gpu_shim.hpp): numbers of 16 bits, and tensor cores that are computed from the definition of
/// their instruction in the PTX ISA ("Matrix fragments for mma.m16n8k16"), where they are asked for.
namespace espalier::gpu_shim {

/// Comes after the preamble.
inline constexpr auto halves = R"c(
/// +-1.xxx * 2^e with `digits` digits behind the point, e >= least.
template <int digits, int least>
struct Half {
    static constexpr int bias = 1 - least;
    unsigned short bits;
};
typedef Half<10, -14> input_f16, made_f16, tile_f16;
typedef Half<7, -126> input_bf16, made_bf16, tile_bf16;
/// By reference: what a call copies, g++ hides from ThreadSanitizer.
template <int digits, int least>
static float value_of(Half<digits, least> const& h) {
    int const magnitude = h.bits & 0x7fff, exponent = magnitude >> digits, rest = magnitude & ((1 << digits) - 1);
    float const value = exponent == 2 * Half<digits, least>::bias + 1 ? (rest ? NAN : INFINITY)
                        : exponent == 0 ? std::ldexp((float)rest, least - digits)
                                        : std::ldexp((float)(rest + (1 << digits)), exponent - 1 + least - digits);
    return h.bits >> 15 ? -value : value;
}
template <int digits, int least>
static void store(Half<digits, least>* p, float value) {
    unsigned const sign = std::signbit(value) ? 0x8000u : 0u, infinite = (2 * Half<digits, least>::bias + 1) << digits;
    if (!(std::fabs(value) < INFINITY)) {
        p->bits = (unsigned short)(sign | infinite | (value != value ? 1u : 0u));
        return;
    }
    int const exponent = value == 0 ? least : std::max(std::ilogb(value), least);
    auto const steps = (unsigned)std::nearbyint(std::ldexp(std::fabs(value), digits - exponent));
    p->bits = (unsigned short)(sign | std::min(infinite, steps + ((unsigned)(exponent - least) << digits)));
}
#define LOAD_input_f16(p, i) value_of((p)[i])
#define LOAD_made_f16(p, i) value_of((p)[i])
#define LOAD_tile_f16(p, i) value_of((p)[i])
#define STORE_made_f16(p, i, v) store((p) + (i), v)
#define LOAD_input_bf16(p, i) value_of((p)[i])
#define LOAD_made_bf16(p, i) value_of((p)[i])
#define LOAD_tile_bf16(p, i) value_of((p)[i])
#define STORE_made_bf16(p, i, v) store((p) + (i), v)
)c";

/// The instruction. Registers of all lanes are put together to matrices; a barrier that 32 threads share stands for
/// their being one warp, so that this is not for finding races.
inline std::string tensor_cores() {
    return R"c(
struct Warp {
    std::barrier<> gate{32};
    float a[16][16], b[16][8];
};
static Warp warps[32];
template <class Number>
static float number_in(unsigned word, int which) {
    return value_of(Number{(unsigned short)(which ? word >> 16 : word & 0xffffu)});
}
template <class Number>
static void mma_16_8_16(float* d, unsigned const* a, unsigned const* b, Number const*) {
    auto& warp = warps[thread_in_group / 32];
    int const lane = thread_in_group % 32, groupID = lane >> 2, threadID_in_group = lane % 4;
    for (int i = 0; i < 8; ++i) {
        int const row = i < 2 || (4 <= i && i < 6) ? groupID : groupID + 8;
        int const column = threadID_in_group * 2 + (i & 1) + (i < 4 ? 0 : 8);
        warp.a[row][column] = number_in<Number>(a[i / 2], i % 2);
    }
    for (int i = 0; i < 4; ++i)
        warp.b[threadID_in_group * 2 + (i & 1) + (i < 2 ? 0 : 8)][groupID] = number_in<Number>(b[i / 2], i % 2);
    warp.gate.arrive_and_wait();
    for (int i = 0; i < 4; ++i)
        for (int k = 0; k < 16; ++k)
            d[i] += warp.a[i < 2 ? groupID : groupID + 8][k] * warp.b[k][threadID_in_group * 2 + (i & 1)];
    warp.gate.arrive_and_wait();
}
#define DEVICE static
)c" + codegen::tensor_core_words();
}

} // namespace espalier::gpu_shim
