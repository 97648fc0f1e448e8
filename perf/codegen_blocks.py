"""The blocks that codegen.py measures: as programs of mugraph, as peers compute them, and their bars."""

import ctypes
import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

LIMITS = r"""
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
typedef float vec __attribute__((vector_size(64)));
static double now(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
static vec sum[16], total;
/* Bytes of memory that one core reads in a second. */
double read_rate(void) {
    static vec* p;
    size_t const bytes = 192ul << 20;
    if (!p) {
        p = aligned_alloc(2 << 20, bytes);
        madvise(p, bytes, MADV_HUGEPAGE);
        memset(p, 0, bytes);
    }
    double const start = now();
    vec s[16];
    memcpy(s, sum, sizeof s);
    for (size_t i = 0; i < bytes / 64; i += 16)
        for (int j = 0; j < 16; ++j) s[j] += p[i + j];
    memcpy(sum, s, sizeof s);
    return bytes / (now() - start);
}
/* Floating-point operations. */
double multiply_rate(void) {
    vec s[16], x = sum[0] * 0 + 0.5f, y = sum[1] * 0 + 0.25f;
    memcpy(s, sum, sizeof s);
    double const start = now();
    for (int i = 0; i < 1000000; ++i) {
        for (int j = 0; j < 16; ++j) s[j] = s[j] * x + y;
        __asm__ volatile("" : "+v"(x));
    }
    double const seconds = now() - start;
    for (int j = 0; j < 16; ++j) total += s[j];
    return 1e6 * 16 * 32 / seconds;
}
"""


def limits_library(folder: Path) -> Path:
    (folder / "limits.c").write_text(LIMITS)
    subprocess.run(["cc", "-O3", "-march=native", "-shared", "-fPIC", "-o", "limits.so", "limits.c"], cwd=folder, check=True)
    return folder / "limits.so"


def measure_limits(library: Path, rounds: int = 9) -> dict:
    """Medians."""
    code = ctypes.CDLL(str(library))
    out = {}
    for name, call in (("read", code.read_rate), ("flops", code.multiply_rate)):
        call.restype = ctypes.c_double
        out[name] = sorted(call() for _ in range(rounds))[rounds // 2]
    return out


@dataclass(frozen=True)
class Bars:
    """Least ratios to the best peer; shares of the limit. 0: none."""
    f32: float = 0          # to the best in f32
    half_same: float = 0    # half storage: to the best of the same dtype
    half_any: float = 0     # ... of any dtype
    share: float = 0        # f32: of what reading takes


@dataclass(frozen=True)
class Block:
    name: str
    program: str
    values: float  # that must be read, with weights and caches
    flops: float
    peer: dict = field(hash=False)  # what codegen_reference.py computes
    bars: Bars = Bars()

    def limit_ms(self, machine: dict, bytes_per_value: int) -> float:
        return 1e3 * max(bytes_per_value * self.values / machine["read"], self.flops / machine["flops"])


def linear(name: str, sizes: tuple[int, int, int], bars: Bars) -> Block:
    m, k, n = sizes
    products = 2 if name == "gated_mlp" else 1
    peer = {"kind": "gated" if products == 2 else "normed", "m": m, "k": k, "n": n}
    if products == 1:
        peer["norm"] = {"rmsnorm_linear": "rms", "layernorm_linear": "layer", "softmax_linear": "softmax"}[name]
    return Block(f"{name} {m}x{k}x{n}", f"builtin: {name}, tokens: {m}, hidden: {k}, out: {n}", m * k + products * k * n,
                 2 * products * m * k * n, peer, bars)


def gqa(name: str, queries: int, keys: int, bars: Bars) -> Block:
    """32 query heads, 8 key heads of 128."""
    return Block(f"gqa {name} 32/8, {queries} x {keys} of 128",
                 f"builtin: gqa, batch: 1, heads: 32, kv_heads: 8, queries: {queries}, keys: {keys}, head_dim: 128",
                 2 * 8 * keys * 128 + 2 * 32 * queries * 128, 4 * 32 * queries * keys * 128,
                 {"kind": "attention", "heads": 8, "rows": 4 * queries, "keys": keys, "dim": 128}, bars)


def lora(m: int, k: int, n: int, rank: int) -> Block:
    return Block(f"lora {m}x{k}x{n} rank {rank}", f"builtin: lora, tokens: {m}, hidden: {k}, out: {n}, rank: {rank}",
                 k * n + rank * (k + n) + m * k, 2 * m * (k * n + rank * (k + n)), {"kind": "lora", "m": m, "k": k, "n": n, "rank": rank},
                 Bars(f32=1.2))


BLOCKS = [
    linear("rmsnorm_linear", (2, 4096, 6144), Bars(f32=1.0, half_same=2, half_any=1.7, share=0.92)),
    linear("layernorm_linear", (2, 4096, 6144), Bars(f32=1.0)),
    linear("softmax_linear", (2, 4096, 6144), Bars(f32=1.0)),
    linear("gated_mlp", (8, 4096, 4096), Bars(f32=1.35, half_same=4, half_any=2.4)),
    lora(16, 4096, 4096, 16),
    gqa("decode", 1, 4096, Bars(f32=1.1, half_same=1.7, half_any=1.7)),
    linear("rmsnorm_linear", (128, 4096, 6144), Bars(f32=0.9)),
    linear("gated_mlp", (128, 4096, 4096), Bars(f32=0.9)),
    linear("rmsnorm_linear", (1024, 4096, 6144), Bars(f32=0.85)),
    gqa("prefill", 256, 4096, Bars(f32=0.85)),
    gqa("prefill", 1024, 1024, Bars(f32=0.85)),
]


def run_peers(python: Path, request: dict, folder: Path) -> dict:
    """Measured by codegen_peers.py: everybody in one process, one thread, huge pages."""
    script = Path(__file__).resolve().parent / "codegen_peers.py"
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "OMP_NUM_THREADS": "1", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
    done = subprocess.run([python, script, json.dumps(request)], capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise RuntimeError(f"{request['block']}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])
