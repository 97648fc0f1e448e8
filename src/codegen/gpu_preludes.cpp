#include "gpu_preludes.hpp"

#include "espalier/codegen/gpu_text.hpp"

namespace espalier::codegen {

std::string gpu_words() {
    return R"c(
typedef real sum_t;
#define SUM_ZERO ((real)0)
#define SUM_ADD(r, v) ((r) + (v))
#define SUM_TOTAL(r, n) (r)
#define STEP_ADD(a, b) ((a) + (b))
#define LARGER(a, b) ((a) < (b) ? (b) : (a))
#define SMALLER(a, b) ((b) < (a) ? (b) : (a))
#define KINK(v, a, b) (v)
#define LOAD_input_f32(p, i) (p[i])
#define LOAD_made_f32(p, i) (p[i])
#define LOAD_input_f64(p, i) (p[i])
#define LOAD_made_f64(p, i) (p[i])
#define STORE_made_f32(p, i, v) (p[i] = v)
#define STORE_made_f64(p, i, v) (p[i] = v)
)c";
}

std::string_view opencl_prelude() {
    return R"c(
#ifdef DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double real;
typedef double input_f64, made_f64;
#define NUMBER(c) ((double)c)
#else
typedef float real;
#define NUMBER(c) (c##f)
#endif
#define INF INFINITY
#define EXP(x) exp(x)
#define SQRT(x) sqrt(x)
#define LOG(x) log(x)
#define TANH(x) tanh(x)
#define ERFC(x) erfc(x)
#define POW(x, y) pow(x, y)

#define KERNEL(name, threads) __kernel __attribute__((reqd_work_group_size(threads, 1, 1))) void name(TENSORS)
#define GLOBAL __global
#define LOCAL __local
#define RESTRICT restrict
#define TILES(count) __local real tiles[count]
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE);
#define TID ((int)get_local_id(0))
#define BLOCK(a) ((int)get_group_id(a))
#define UNROLL __attribute__((opencl_unroll_hint))

typedef ushort input_f16, made_f16, input_bf16, made_bf16;
typedef float input_f32, made_f32;
#define LOAD_input_f16(p, i) vload_half(i, (__global half const*)(p))
#define LOAD_made_f16(p, i) vload_half(i, (__global half const*)(p))
#define STORE_made_f16(p, i, v) vstore_half_rte(v, i, (__global half*)(p))
#define LOAD_input_bf16(p, i) as_float((uint)(p)[i] << 16)
#define LOAD_made_bf16(p, i) as_float((uint)(p)[i] << 16)
#define STORE_made_bf16(p, i, v) ((p)[i] = f32_to_bf16(v))

ushort f32_to_bf16(float x) { // to the nearest, ties to even
    uint const a = as_uint(x);
    return (ushort)(x != x ? 0x7fc0u : (a + 0x7fffu + (a >> 16 & 1u)) >> 16);
}
)c";
}

std::string_view cuda_prelude() {
    return R"c(
#ifdef STORES_f16
#include <cuda_fp16.h>
typedef __half input_f16, made_f16;
#endif
#ifdef STORES_bf16
#include <cuda_bf16.h>
typedef __nv_bfloat16 input_bf16, made_bf16;
#endif
#ifdef DOUBLE
typedef double real;
#define NUMBER(c) ((double)c)
#define INF ((double)INFINITY)
#define EXP(x) exp(x)
#define SQRT(x) sqrt(x)
#define LOG(x) log(x)
#define TANH(x) tanh(x)
#define ERFC(x) erfc(x)
#define POW(x, y) pow(x, y)
#else
typedef float real;
#define NUMBER(c) (c##f)
#define INF INFINITY
#define EXP(x) expf(x)
#define SQRT(x) sqrtf(x)
#define LOG(x) logf(x)
#define TANH(x) tanhf(x)
#define ERFC(x) erfcf(x)
#define POW(x, y) powf(x, y)
#endif

#define KERNEL(name, threads) static __global__ void __launch_bounds__(threads) name(TENSORS)
#define GLOBAL
#define LOCAL
#define RESTRICT __restrict__
#define TILES(count) \
    extern __shared__ __align__(16) unsigned char local_memory[]; \
    real* const tiles = (real*)local_memory
#define BARRIER __syncthreads();
#define TID ((int)threadIdx.x)
#define BLOCK(a) ((int)((a) == 0 ? blockIdx.x : (a) == 1 ? blockIdx.y : blockIdx.z))
#define UNROLL _Pragma("unroll")

typedef float input_f32, made_f32;
typedef double input_f64, made_f64;
#define LOAD_input_f16(p, i) __half2float(p[i])
#define LOAD_made_f16(p, i) __half2float(p[i])
#define STORE_made_f16(p, i, v) (p[i] = __float2half_rn(v))
#define LOAD_input_bf16(p, i) __bfloat162float(p[i])
#define LOAD_made_bf16(p, i) __bfloat162float(p[i])
#define STORE_made_bf16(p, i, v) (p[i] = __float2bfloat16_rn(v))
)c";
}

} // namespace espalier::codegen
