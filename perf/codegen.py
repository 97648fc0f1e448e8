#!/usr/bin/env python3
"""Programs that the superoptimizer found, as code on one thread of this machine: time, share of what the machine can do, gain over the
input program that the same generator made.

CPU milliseconds, medians, the program and the input in turns, inputs cold (see src/codegen/README.md). The limit is the larger of bytes /
read rate and operations / rate of fused multiply-adds, both measured here before and after."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from common import Layout, Searches, parser

LIMITS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
typedef float vec __attribute__((vector_size(64)));
static double now(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
int main(void) {
    size_t const bytes = 512ul << 20;
    vec* const p = aligned_alloc(2 << 20, bytes);
    madvise(p, bytes, MADV_HUGEPAGE);
    memset(p, 0, bytes);
    double read = 1e9, multiply = 1e9;
    vec sum[16] = {{0}}, x = p[0] + 0.5f, y = p[1] + 0.25f, total = {0};
    for (int round = 0; round < 9; ++round) {
        double start = now();
        for (size_t i = 0; i < bytes / 64; i += 16)
            for (int j = 0; j < 16; ++j) sum[j] += p[i + j];
        if (now() - start < read) read = now() - start;
        start = now();
        for (int i = 0; i < 4000000; ++i) {
            for (int j = 0; j < 16; ++j) sum[j] += x * y;
            __asm__ volatile("" : "+v"(x));
        }
        if (now() - start < multiply) multiply = now() - start;
    }
    for (int j = 0; j < 16; ++j) total += sum[j];
    printf("{\"read\": %g, \"flops\": %g, \"nothing\": %g}\n", bytes / read, 4e6 * 16 * 32 / multiply, total[0]);
}
"""


@dataclass(frozen=True)
class Block:
    name: str
    program: str
    values: float  # that must be read, with weights and caches
    flops: float

    def limit_ms(self, machine: dict, bytes_per_value: int) -> float:
        return 1e3 * max(bytes_per_value * self.values / machine["read"], self.flops / machine["flops"])


def linear(tokens: int, hidden: int, out: int, name: str, products: int = 1) -> Block:
    return Block(f"{name} {tokens}x{hidden}x{out}", f"builtin: {name}, tokens: {tokens}, hidden: {hidden}, out: {out}",
                 tokens * hidden + products * hidden * out, 2 * products * tokens * hidden * out)


BLOCKS = [
    linear(2, 4096, 6144, "rmsnorm_linear"),
    linear(2, 4096, 6144, "layernorm_linear"),
    linear(2, 4096, 6144, "softmax_linear"),
    linear(8, 4096, 4096, "gated_mlp", 2),
    Block("lora 16x4096x4096 rank 16", "builtin: lora, tokens: 16, hidden: 4096, out: 4096, rank: 16", 4096 * 4096 + 3 * 16 * 4096, 2 * 16 * 4096 * (4096 + 32)),
    Block("gqa decode 32/8, 4096 keys of 128", "builtin: gqa, batch: 1, heads: 32, kv_heads: 8, queries: 1, keys: 4096, head_dim: 128", 2 * 8 * 4096 * 128, 4 * 32 * 4096 * 128),
    linear(128, 4096, 6144, "rmsnorm_linear"),
    linear(128, 4096, 4096, "gated_mlp", 2),
]


def limits(folder: Path) -> dict:
    (folder / "limits.c").write_text(LIMITS)
    subprocess.run(["cc", "-O3", "-march=native", "-o", "limits", "limits.c"], cwd=folder, check=True)
    return json.loads(subprocess.run(["./limits"], cwd=folder, check=True, capture_output=True, text=True).stdout)


def best_of(searches: Searches, block: Block, dtype: str, top: int, seconds: float) -> dict | None:
    """The quickest of the best programs."""
    searches.finish(searches.start(f"{{kind: mugraph, program: {{{block.program}, dtype: {dtype}}}}}", Layout(1, 1), search__max_time="60s"), (0, 85))
    run = searches.folder / str(searches.count)
    best = None
    for rank in range(1, top + 1):
        folder = searches.folder / f"{searches.count}-{rank}"
        if subprocess.run([searches.program, "emit", run, "--program", str(rank), "-o", folder], capture_output=True).returncode != 0:
            break
        subprocess.run(["sh", "build"], cwd=folder, check=True)
        done = subprocess.run(["./bench", "--threads", "1", "--cpu-time", "--json", "--seconds", str(seconds)], cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{block.name}, program {rank}: {done.stderr}")
        told = json.loads(done.stdout)
        best = told if best is None or told["ms"] < best["ms"] else best
    return best


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--dtype", action="append", choices=["f32", "f16", "bf16"], help="may be given several times; f32")
    arguments.add_argument("--only", default="", help="blocks whose name contains this")
    arguments.add_argument("--top", type=int, default=3, help="programs that are tried (3)")
    arguments.add_argument("--seconds", type=float, default=2, help="of measuring each (2)")
    asked = arguments.parse_args()
    rows = []
    with Searches(asked.bin) as searches:
        before = limits(searches.folder)
        for dtype in asked.dtype or ["f32"]:
            for block in BLOCKS:
                if asked.only not in block.name:
                    continue
                told = best_of(searches, block, dtype, asked.top, asked.seconds)
                if told is None:
                    print(f"{block.name}: nothing was found", file=sys.stderr)
                    continue
                limit = block.limit_ms(before, 2 if dtype != "f32" else 4)
                rows.append({"block": block.name, "dtype": dtype, "limit_ms": limit, "share": limit / told["ms"], **told})
                if not asked.json:
                    print(f"{block.name:36} {dtype:5} {told['ms']:8.3f} ms  {100 * limit / told['ms']:4.0f} % of the limit ({limit:.2f} ms)  "
                          f"{told['speedup']:.2f}x of the input program", flush=True)
        after = limits(searches.folder)
    if asked.json:
        print(json.dumps({"machine": before, "machine_after": after, "rows": rows}))
    else:
        print(f"one core: reads {before['read'] * 1e-9:.1f} GB/s ({after['read'] * 1e-9:.1f} after), {before['flops'] * 1e-9:.0f} GFLOP/s "
              f"({after['flops'] * 1e-9:.0f})")


if __name__ == "__main__":
    main()
