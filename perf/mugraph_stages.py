#!/usr/bin/env python3
"""How soon the superoptimizer finds something, and how long its stages take: the programs that people try first.

One thread, default settings, CPU seconds. The first result is that of a run that stops there; the stages are those that another
run completes within a limit. Of a stage that is not complete nothing is said but its name.

Prints a table; --limit S changes the limit of a run (90 s of CPU are about what two kernels of attention take).
"""

import argparse
import json
import re
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ATTENTION = "heads: 8, kv_heads: 2, keys: 4096, head_dim: 64"


def of_ops(dims: str, inputs: str, ops: list[str], outputs: str) -> str:
    return f"{{dims: {{{dims}}}, inputs: {{{inputs}}}, ops: [{', '.join('{' + op + '}' for op in ops)}], outputs: [{outputs}]}}"


PROGRAMS = {
    "RMSNorm + linear": "{builtin: rmsnorm_linear}",
    "LayerNorm + linear": "{builtin: layernorm_linear}",
    "gated MLP": "{builtin: gated_mlp}",
    "SwiGLU with down projection": of_ops(
        "B: 8, K: 1024, H: 1536, N: 1024", "X: [B, K], W1: [K, H], W2: [K, H], W3: [H, N]",
        ["out: g, op: matmul, in: [X, W1]", "out: s, op: silu, in: [g]", "out: u, op: matmul, in: [X, W2]",
         "out: h, op: mul, in: [s, u]", "out: z, op: matmul, in: [h, W3]"], "z"),
    "LoRA": "{builtin: lora}",
    "nTrans": "{builtin: ntrans}",
    "residual + RMSNorm, both outputs": of_ops(
        "B: 256, K: 4096", "X: [B, K], R: [B, K]", ["out: S, op: add, in: [X, R]", "out: Y, op: rmsnorm, in: [S]"], "S, Y"),
    "bias + gelu, K = 28,672": of_ops(
        "B: 8, K: 28672, N: 1024", "X: [B, K], W: [K, N], b: [1, N]",
        ["out: P, op: matmul, in: [X, W]", "out: Q, op: add, in: [P, b]", "out: Y, op: gelu, in: [Q]"], "Y"),
    "X W + R, K = 28,672": of_ops(
        "B: 8, K: 28672, N: 1024", "X: [B, K], W: [K, N], R: [B, N]",
        ["out: P, op: matmul, in: [X, W]", "out: Y, op: add, in: [P, R]"], "Y"),
    "attention, 2-D, scaled, keys in rows": of_ops(
        "Q: 96, D: 64, K: 3072, E: 64", "Q: [Q, D], K: [K, D], V: [K, E]",
        ["out: T, op: transpose, in: [K]", "out: S, op: matmul, in: [Q, T]", "out: U, op: mul, in: [S, 0.125]",
         "out: P, op: softmax, in: [U]", "out: O, op: matmul, in: [P, V]"], "O"),
    "GQA, 256 rows": f"{{builtin: gqa, variant: safe, queries: 64, {ATTENTION}}}",
    "GQA, 4 rows": f"{{builtin: gqa, variant: safe, queries: 1, {ATTENTION}}}",
    "GQA, 256 rows, without a maximum": f"{{builtin: gqa, queries: 64, {ATTENTION}}}",
    "QK-norm + GQA": f"{{builtin: qknorm_gqa, variant: safe, queries: 64, {ATTENTION}}}",
    "QK-norm + GQA of Mirage": f"{{builtin: qknorm_gqa, variant: mirage, queries: 64, {ATTENTION}}}",
}


def search(program: str, espalier: Path, *flags: str) -> tuple[dict, str]:
    with tempfile.TemporaryDirectory() as folder:
        experiment = Path(folder) / "experiment.yaml"
        experiment.write_text(f"problem: {{kind: mugraph, program: {program}}}\nresults: {{path: {folder}/run}}\n")
        done = subprocess.run([espalier, "search", experiment, "--json", "-v", "--threads", "1", *flags],
                              capture_output=True, text=True, check=False)
        return json.loads(done.stdout), done.stderr


def stages(log: str) -> list[tuple[str, float]]:
    """Of each complete stage: its words, and the CPU seconds since the start."""
    found = re.findall(r"stage \d+ of \d+: (.*): complete after ([\d.]+) CPU s", log)
    return [(words, float(seconds)) for words, seconds in found]


def measure(program: str, espalier: Path, limit_s: float) -> dict:
    first, _ = search(program, espalier, "--set", "search.max_results=1", "--max-time", f"{limit_s}s")
    whole, log = search(program, espalier, "--max-time", f"{limit_s}s")
    done = stages(log)
    one_kernel = [seconds for words, seconds in done if words == "one kernel, 8 block ops"]
    combined = [seconds for words, seconds in done if "combines" in words]
    return {"first": first["cpu_seconds"] if first["result_count"] else None, "one": next(iter(one_kernel), None),
            "combined": next(iter(combined), None), "complete": len(done), "seconds": whole["cpu_seconds"],
            "whole": whole["stop_reason"] == "complete"}


def number(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.2f}"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--espalier", type=Path, default=ROOT / "build/release/bin/espalier")
    arguments.add_argument("--limit", type=float, default=90, help="seconds of a run")
    arguments.add_argument("--only", default="", help="programs whose name has this")
    chosen = arguments.parse_args()
    print("| program | first result | one kernel, up to 8 block ops | second kernel combines | all stages |\n|---|---|---|---|---|")
    for name, program in PROGRAMS.items():
        if chosen.only not in name:
            continue
        row = measure(program, chosen.espalier, chosen.limit)
        whole = number(row["seconds"]) if row["whole"] else f"{row['complete']} complete after {row['seconds']:.0f}"
        print(f"| {name} | {number(row['first'])} | {number(row['one'])} | {number(row['combined'])} | {whole} |", flush=True)


if __name__ == "__main__":
    main()
