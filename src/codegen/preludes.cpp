#include "preludes.hpp"

namespace espalier::codegen {

std::string_view cpu_prelude() {
    return R"c(
#ifdef DOUBLE
typedef double real;
#define INF __builtin_inf()
#define EXP(x) __builtin_exp(x)
#define SQRT(x) __builtin_sqrt(x)
#define LOG(x) __builtin_log(x)
#define TANH(x) __builtin_tanh(x)
#define ERFC(x) __builtin_erfc(x)
#define POW(x, y) __builtin_pow(x, y)
#else
typedef float real;
#define INF __builtin_inff()
#define EXP(x) exp_f32(x)
#define SQRT(x) __builtin_sqrtf(x)
#define LOG(x) __builtin_logf(x)
#define TANH(x) __builtin_tanhf(x)
#define ERFC(x) __builtin_erfcf(x)
#define POW(x, y) __builtin_powf(x, y)
#endif
typedef real sum_t;
#define NUMBER(c) ((real)c)
#define SUM_ZERO ((real)0)
#define SUM_ADD(r, v) ((r) + (v))
#define SUM_TOTAL(r, n) (r)
#define STEP_ADD(a, b) ((a) + (b))
#define LARGER(a, b) ((a) < (b) ? (b) : (a))
#define SMALLER(a, b) ((b) < (a) ? (b) : (a))
#define KINK(v, a, b) (v)
#define SIMD _Pragma("omp simd")
#define SIMD_SUM _Pragma("omp simd reduction(+ : r_)")
#define SIMD_LARGEST _Pragma("omp simd reduction(max : r_)")
#define SIMD_SMALLEST _Pragma("omp simd reduction(min : r_)")

struct f16 {
    unsigned short bits;
};
struct bf16 {
    unsigned short bits;
};
typedef f16 input_f16, made_f16;
typedef bf16 input_bf16, made_bf16;
typedef float input_f32, made_f32;
typedef double input_f64, made_f64;
#define LOAD_input_f16(p, i) f16_to_f32(p[i].bits)
#define LOAD_made_f16(p, i) f16_to_f32(p[i].bits)
#define LOAD_input_bf16(p, i) bf16_to_f32(p[i].bits)
#define LOAD_made_bf16(p, i) bf16_to_f32(p[i].bits)
#define LOAD_input_f32(p, i) (p[i])
#define LOAD_made_f32(p, i) (p[i])
#define LOAD_input_f64(p, i) (p[i])
#define LOAD_made_f64(p, i) (p[i])
#define STORE_made_f16(p, i, v) (p[i].bits = f32_to_f16(v))
#define STORE_made_bf16(p, i, v) (p[i].bits = f32_to_bf16(v))
#define STORE_made_f32(p, i, v) (p[i] = v)
#define STORE_made_f64(p, i, v) (p[i] = v)

)c";
}

std::string_view conversions_text() {
    return R"c(
static inline unsigned bits_of(float x) { return __builtin_bit_cast(unsigned, x); }
static inline float float_of(unsigned x) { return __builtin_bit_cast(float, x); }
static inline float f16_to_f32(unsigned short h) {
    float const magnitude = float_of((h & 0x7fffu) << 13) * 0x1p112f; // of subnormal numbers too
    unsigned const finite = bits_of(magnitude), infinite = finite | 0x7f800000u;
    return float_of(((h & 0x7c00u) == 0x7c00u ? infinite : finite) | (h & 0x8000u) << 16);
}
static inline unsigned short f32_to_f16(float x) { // to the nearest, ties to even
    unsigned const sign = bits_of(x) >> 16 & 0x8000u, a = bits_of(x) & 0x7fffffffu;
    unsigned const normal = (a + 0xc8000fffu + (a >> 13 & 1u)) >> 13;
    unsigned const subnormal = bits_of(float_of(a) + 0.5f) - 0x3f000000u;
    unsigned const large = a > 0x7f800000u ? 0x7e00u : 0x7c00u;
    return (unsigned short)(sign | (a >= 0x47800000u ? large : a < 0x38800000u ? subnormal : normal));
}
static inline float bf16_to_f32(unsigned short h) { return float_of((unsigned)h << 16); }
static inline unsigned short f32_to_bf16(float x) {
    unsigned const a = bits_of(x), rounded = (a + 0x7fffu + (a >> 16 & 1u)) >> 16;
    return (unsigned short)(x != x ? 0x7fc0u : rounded);
}
)c";
}

std::string_view functions_text() {
    return R"c(/// 2^n (1 + ..), right to about a unit in the last place.
static inline float exp_f32(float x) {
    float const y = x < -104.0f ? -104.0f : x > 89.0f ? 89.0f : x;
    float const n = y * 1.44269504f + 12582912.0f - 12582912.0f;
    float const r = y - n * 0.693359375f + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    int const power = (int)n, half = power >> 1;
    return p * float_of((unsigned)(half + 127) << 23) * float_of((unsigned)(power - half + 127) << 23);
}
)c";
}

std::string_view product_text() {
    return R"c(
#ifndef DOUBLE
#if defined __AVX512F__
enum { LANES = 16 };
#elif defined __AVX__
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif
typedef float vec __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef unsigned short halves __attribute__((vector_size(2 * LANES), aligned(2), may_alias));
typedef unsigned words __attribute__((vector_size(4 * LANES)));

static inline float value_of(float x) { return x; }
static inline float value_of(f16 x) { return f16_to_f32(x.bits); }
static inline float value_of(bf16 x) { return bf16_to_f32(x.bits); }
static inline vec load(float const* p) { return *(vec const*)p; }
static inline vec load(bf16 const* p) { return (vec)(__builtin_convertvector(*(halves const*)p, words) << 16); }
static inline vec load(f16 const* p) {
#if defined __AVX512F__
    typedef short raw __attribute__((vector_size(32)));
    typedef float full __attribute__((vector_size(64)));
    return (vec)__builtin_ia32_vcvtph2ps512_mask((raw)*(halves const*)p, (full){}, (unsigned short)-1, 4);
#elif defined __F16C__ && defined __AVX__
    typedef short raw __attribute__((vector_size(16)));
    return (vec)__builtin_ia32_vcvtph2ps256((raw)*(halves const*)p);
#else
    vec out;
    for (int i = 0; i < LANES; ++i) out[i] = value_of(p[i]);
    return out;
#endif
}

template <int VALUE>
struct constant {
    enum { value = VALUE };
};

/// ROWS x VECTORS results, in registers, over the whole sum. b is fetched AHEAD rows before.
template <int ROWS, int VECTORS, int AHEAD, class Left, class Right>
static inline __attribute__((always_inline)) void product_block(Left const* a, long a_row, long a_depth, Right const* b,
                                                               long b_depth, long depth, real* c, long c_row,
                                                               bool is_first) {
    vec sum[ROWS][VECTORS];
#pragma GCC unroll 32
    for (int m = 0; m < ROWS; ++m)
#pragma GCC unroll 8
        for (int v = 0; v < VECTORS; ++v) sum[m][v] = vec{};
    for (long k = 0; k < depth; ++k) {
        vec row[VECTORS];
#pragma GCC unroll 8
        for (int v = 0; v < VECTORS; ++v) row[v] = load(b + k * b_depth + v * LANES);
        if constexpr (AHEAD > 0)
            for (int v = 0; v < VECTORS; ++v) __builtin_prefetch(b + (k + AHEAD) * b_depth + v * LANES);
#pragma GCC unroll 32
        for (int m = 0; m < ROWS; ++m) {
            vec const x = value_of(a[m * a_row + k * a_depth]) - vec{};
#pragma GCC unroll 8
            for (int v = 0; v < VECTORS; ++v) sum[m][v] += x * row[v];
        }
    }
#pragma GCC unroll 32
    for (int m = 0; m < ROWS; ++m)
#pragma GCC unroll 8
        for (int v = 0; v < VECTORS; ++v) {
            vec* const to = (vec*)(c + m * c_row + v * LANES);
            *to = is_first ? sum[m][v] : *to + sum[m][v];
        }
}
/// The columns that are no whole vector.
template <class Left, class Right>
static inline void product_rest(long rows, long columns, Left const* a, long a_row, long a_depth, Right const* b,
                                long b_depth, long b_column, long depth, real* c, long c_row, bool is_first) {
    for (long m = 0; m < rows; ++m)
        for (long n = 0; n < columns; ++n) {
            real sum = 0;
            for (long k = 0; k < depth; ++k)
                sum += value_of(a[m * a_row + k * a_depth]) * value_of(b[k * b_depth + n * b_column]);
            c[m * c_row + n] = is_first ? sum : c[m * c_row + n] + sum;
        }
}
/// All rows, for one panel of columns.
template <int M, int ROWS, int VECTORS, int AHEAD, class Left, class Right>
static inline void product_panel(Left const* a, long a_block, long a_row, long a_depth, Right const* b, long b_depth,
                                 long depth, real* c, long c_row, bool is_first) {
    for (long m = 0; m + ROWS <= M; m += ROWS)
        product_block<ROWS, VECTORS, AHEAD>(a + m / ROWS * a_block, a_row, a_depth, b, b_depth, depth, c + m * c_row, c_row, is_first);
    if constexpr (M % ROWS != 0)
        product_block<M % ROWS, VECTORS, AHEAD>(a + M / ROWS * a_block, a_row, a_depth, b, b_depth, depth,
                                         c + M / ROWS * ROWS * c_row, c_row, is_first);
}
/// c = a b, or c += a b. b has panels of COLUMNS columns, each `b_panel` after the one before.
template <int M, int N, int DEPTH, int ROWS, int COLUMNS, bool PACKS_LEFT, bool PACKS_RIGHT, int AHEAD, class Left, class Right>
static __attribute__((noinline)) void product(Left const* a, long a_row, long a_depth, Right const* b, long b_depth,
                                              long b_column, long b_panel, real* c, long c_row, bool is_first,
                                              real* left, real* right) {
    if constexpr (PACKS_LEFT)
        for (long m = 0; m < M; ++m)
            for (long k = 0; k < DEPTH; ++k)
                left[m / ROWS * (ROWS * DEPTH) + k * ROWS + m % ROWS] = value_of(a[m * a_row + k * a_depth]);
    auto const panel = [&](auto const* of_b, long step, real* to, auto width) {
        constexpr int vectors = decltype(width)::value / LANES;
        if constexpr (PACKS_LEFT)
            product_panel<M, ROWS, vectors, AHEAD>(left, ROWS * DEPTH, 1, ROWS, of_b, step, DEPTH, to, c_row, is_first);
        else
            product_panel<M, ROWS, vectors, AHEAD>(a, ROWS * a_row, a_row, a_depth, of_b, step, DEPTH, to, c_row, is_first);
    };
    auto const columns = [&](long n, auto width) {
        constexpr int count = decltype(width)::value;
        auto const* const from = b + n / COLUMNS * b_panel + n % COLUMNS * b_column;
        if constexpr (PACKS_RIGHT) {
            for (long k = 0; k < DEPTH; ++k)
                for (long i = 0; i < count; ++i) right[k * count + i] = value_of(from[k * b_depth + i * b_column]);
            panel((real const*)right, count, c + n, width);
        } else {
            panel(from, b_depth, c + n, width);
        }
    };
    long n = 0;
    for (; n + COLUMNS <= N; n += COLUMNS) columns(n, constant<COLUMNS>());
    for (; n + LANES <= N; n += LANES) columns(n, constant<LANES>());
    if (n < N)
        product_rest(M, N - n, a, a_row, a_depth, b + n / COLUMNS * b_panel + n % COLUMNS * b_column, b_depth, b_column, DEPTH,
                     c + n, c_row, is_first);
}
#endif
)c";
}

std::string_view reference_prelude() {
    return R"c(
/// A value, and how far a program that rounds may be from it.
struct Real {
    double value, error;
    Real() = default;
    Real(double v, double e = 0) : value(v), error(e) {}
};
/// A sum: errors of its terms, and their magnitudes, of which rounding takes a part that grows with the root of their number.
struct Sum {
    double value = 0, error = 0, magnitude = 0;
};
typedef Real real;
typedef Sum sum_t;
#define NUMBER(c) Real(c, ROUNDING * fabs(c))
#define INF Real(HUGE_VAL)
#define SUM_ZERO Sum()
#define SUM_ADD(r, v) summed(r, v)
#define SUM_TOTAL(r, n) Real(r.value, r.error + 2 * ROUNDING * sqrt((double)(n)) * r.magnitude)
#define STEP_ADD(a, b) ((a) + (b))
#define LARGER(a, b) chosen((a).value < (b).value ? b : a, a, b)
#define SMALLER(a, b) chosen((b).value < (a).value ? b : a, a, b)
#define KINK(v, a, b) chosen(v, a, b)
#define EXP(x) exponential(x)
#define SQRT(x) root(x)
#define LOG(x) logarithm(x)
#define TANH(x) smooth(tanh((x).value), (x).error)
#define ERFC(x) smooth(erfc((x).value), 1.2 * (x).error)
#define POW(x, y) exponential(logarithm(x) * Real(y))
#define SIMD
#define SIMD_SUM
#define SIMD_LARGEST
#define SIMD_SMALLEST
typedef double input_f16, input_bf16, input_f32, input_f64;
typedef Real made_f16, made_bf16, made_f32, made_f64;
#define LOAD_input_f16(p, i) Real(p[i])
#define LOAD_input_bf16(p, i) Real(p[i])
#define LOAD_input_f32(p, i) Real(p[i])
#define LOAD_input_f64(p, i) Real(p[i])
#define LOAD_made_f16(p, i) (p[i])
#define LOAD_made_bf16(p, i) (p[i])
#define LOAD_made_f32(p, i) (p[i])
#define LOAD_made_f64(p, i) (p[i])
#define STORE_made_f16(p, i, v) (p[i] = stored(v, 0x1p-11, 0x1p-25))
#define STORE_made_bf16(p, i, v) (p[i] = stored(v, 0x1p-8, 0))
#define STORE_made_f32(p, i, v) (p[i] = stored(v, 0x1p-24, 0))
#define STORE_made_f64(p, i, v) (p[i] = stored(v, 0x1p-53, 0))

static inline Real rounded(double v, double e) { return Real(v, e + ROUNDING * fabs(v)); }
static inline Real smooth(double v, double e) { return Real(v, e + 4 * ROUNDING * (fabs(v) + 1)); }
static inline Real operator-(Real a) { return Real(-a.value, a.error); }
static inline Real operator+(Real a, Real b) { return rounded(a.value + b.value, a.error + b.error); }
static inline Real operator-(Real a, Real b) { return rounded(a.value - b.value, a.error + b.error); }
static inline Real operator*(Real a, Real b) {
    return rounded(a.value * b.value, fabs(a.value) * b.error + fabs(b.value) * a.error + a.error * b.error);
}
static inline Real operator/(Real a, Real b) {
    double const v = a.value / b.value, room = fabs(b.value) - b.error;
    return room > 0 ? rounded(v, (a.error + fabs(v) * b.error) / room) : Real(v, HUGE_VAL);
}
static inline bool operator<(Real a, Real b) { return a.value < b.value; }
static inline bool operator>(Real a, Real b) { return a.value > b.value; }
static inline Real chosen(Real v, Real a, Real b) {
    return Real(v.value, fmax(fmax(v.error, a.error), b.error));
}
static inline Real exponential(Real x) {
    double const v = exp(x.value);
    return Real(v, v * (expm1(x.error) + 4 * ROUNDING));
}
static inline Real root(Real x) {
    double const v = sqrt(x.value);
    return rounded(v, x.error == 0 ? 0 : v - sqrt(fmax(0, x.value - x.error)));
}
static inline Real logarithm(Real x) {
    double const v = log(x.value), room = x.value - x.error;
    return room > 0 ? Real(v, x.error / room + 4 * ROUNDING * fabs(v)) : Real(v, HUGE_VAL);
}
static int is_large = 0; ///< something is so large that integers may have been rounded
static inline double noted(double x) {
    if (!(fabs(x) <= 0.25 * (1ul << (DIGITS < 24 ? DIGITS : 24)))) __atomic_store_n(&is_large, 1, __ATOMIC_RELAXED);
    return x;
}
static inline Sum summed(Sum r, Real v) {
    return {r.value + v.value, r.error + v.error, r.magnitude + fabs(v.value)};
}
static inline Real stored(Real x, double rounding, double least) {
    return Real(noted(x.value), x.error + rounding * fabs(x.value) + least);
}
)c";
}

} // namespace espalier::codegen
