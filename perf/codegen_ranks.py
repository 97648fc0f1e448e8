"""Sections of codegen.py: is the program that the search ranks first faster, and does its cost model rank as measuring does?"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from common import Bar, Layout, Searches

# Sizes whose inputs no cache holds, and whose programs are measured in milliseconds.
BUILTINS = {
    "rmsnorm_linear": "tokens: 2, hidden: 2048, out: 4096",
    "rmsnorm_linear_primitive": "tokens: 2, hidden: 2048, out: 4096",
    "layernorm_linear": "tokens: 2, hidden: 2048, out: 4096",
    "softmax_linear": "tokens: 2, hidden: 2048, out: 4096",
    "gated_mlp": "tokens: 8, hidden: 2048, out: 2048",
    "lora": "tokens: 16, hidden: 2048, out: 2048, rank: 16",
    "mha": "batch: 1, heads: 8, queries: 64, keys: 2048, head_dim: 64",
    "mqa": "batch: 4, heads: 8, queries: 8, keys: 2048, head_dim: 64",
    "gqa": "batch: 1, heads: 8, kv_heads: 2, queries: 64, keys: 2048, head_dim: 64",
    "qknorm_gqa": "batch: 1, heads: 8, kv_heads: 2, queries: 64, keys: 2048, head_dim: 64",
    "ntrans": "tokens: 64, hidden: 4096",
}
SEARCH_ENDS = (0, 85)       # complete, or cut off by its own limit of time


def cpu_name() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown CPU"


def searched(searches: Searches, asked: argparse.Namespace, program: str, hardware: str) -> Path:
    """The run folder of a search on one thread."""
    named = f", hardware: {hardware}" if hardware else ""
    searches.finish(searches.start(f"{{kind: mugraph, program: {{{program}}}{named}}}", Layout(1, 1),
                                   search__max_time=f"{asked.search_seconds}s"), SEARCH_ENDS)
    return searches.folder / str(searches.count)


def shown(searches: Searches, run: Path) -> list[dict]:
    done = subprocess.run([searches.program, "show", run, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["results"]


def emit(searches: Searches, run: Path, rank: int) -> Path | None:
    """The folder of a program; None if it cannot be emitted as code."""
    folder = run.with_name(f"{run.name}-{rank}")
    done = subprocess.run([searches.program, "emit", run, "--program", str(rank), "-o", folder], capture_output=True)
    return folder if done.returncode == 0 else None


def timed(folder: Path, seconds: float) -> dict:
    """Checked against float64, then measured in turns with the input program."""
    subprocess.run(["sh", "build"], cwd=folder, check=True)
    done = subprocess.run(["./bench", "--threads", "1", "--cpu-time", "--json", "--seconds", str(seconds)], cwd=folder,
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{folder}: {done.stderr}")
    return json.loads(done.stdout) | {"folder": str(folder)}


def best_of(searches: Searches, asked: argparse.Namespace, program: str) -> dict | None:
    """The fastest of the best programs, and the gain that the search claims for the first."""
    run = searched(searches, asked, program, asked.hardware)
    best, claimed = None, next((one["speedup"] for one in shown(searches, run)), None)
    for rank in range(1, asked.top + 1):
        folder = emit(searches, run, rank)
        if folder is None:
            break
        told = timed(folder, asked.seconds) | {"claimed": claimed}
        best = told if best is None or told["ms"] < best["ms"] else best
    return best


def fused_section(searches: Searches, asked: argparse.Namespace) -> tuple[list[dict], list[Bar]]:
    rows, bars = [], []
    for builtin, sizes in BUILTINS.items():
        if asked.block not in builtin:
            continue
        best = best_of(searches, asked, f"builtin: {builtin}, {sizes}, dtype: f32")
        if best is None:
            continue
        rows.append({"builtin": builtin, "sizes": sizes} | best)
        if best["claimed"] > 1:
            bars.append(Bar(f"{builtin}: the input program / the one found (the search says {best['claimed']:.2f})", best["speedup"], 1))
        if not asked.json:
            print(f"{builtin:26}{best['ms']:9.3f} ms, {best['speedup']:.3f}x of the input program, the search says {best['claimed']:.2f}x", flush=True)
    return rows, bars


def ranks_of(values: list[float]) -> list[float]:
    """Equal ones share the mean of their ranks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    out, start = [0.0] * len(values), 0
    while start < len(order):
        end = start
        while end < len(order) and values[order[end]] == values[order[start]]:
            end += 1
        for i in order[start:end]:
            out[i] = (start + end - 1) / 2
        start = end
    return out


def spearman(a: list[float], b: list[float]) -> float:
    """0 if one of them is the same everywhere."""
    x, y = ranks_of(a), ranks_of(b)
    middle = (len(a) - 1) / 2
    product = sum((i - middle) * (j - middle) for i, j in zip(x, y))
    size = (sum((i - middle) ** 2 for i in x) * sum((j - middle) ** 2 for j in y)) ** 0.5
    return product / size if size > 0 else 0.0


def distinct_programs(searches: Searches, asked: argparse.Namespace, run: Path) -> list[dict]:
    """The cheapest of every form first, then other schedules; programs of the same code count once."""
    results = shown(searches, run)
    seen_forms: set[str] = set()
    first = [one for one in results if not (one["form"] in seen_forms or seen_forms.add(one["form"]))]
    rest = [one for one in results if one not in first]
    found, codes = [], set()
    for one in (first + rest)[:4 * asked.programs]:
        if len(found) == asked.programs:
            break
        folder = emit(searches, run, one["id"])
        if folder is None:
            continue
        source = next(file for file in folder.glob("*.cpp") if file.name != "bench.cpp" and not file.name.endswith("_input.cpp"))
        code = re.sub(r"^//.*$", "", source.read_text(), flags=re.MULTILINE)
        if code in codes:
            continue
        codes.add(code)
        found.append({"cost_us": one["cost_us"], "form": one["form"], "folder": str(folder), "name": source.stem})
    return found


def build_library(folder: Path, name: str) -> None:
    command = re.search(r"^CXXFLAGS=\$\{CXXFLAGS:-(.*)\}$", (folder / "build").read_text(), re.MULTILINE).group(1).split()
    subprocess.run(["c++", *command, "-shared", "-fPIC", "-o", f"lib{name}.so", f"{name}.cpp", "-lm"], cwd=folder, check=True)


def ranks_section(searches: Searches, asked: argparse.Namespace) -> tuple[list[dict], list[Bar]]:
    rows, bars = [], []
    script = Path(__file__).resolve().parent / "codegen_programs.py"
    environment = os.environ | {"OMP_NUM_THREADS": "1", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
    for builtin, sizes in BUILTINS.items():
        if asked.block not in builtin:
            continue
        run = searched(searches, asked, f"builtin: {builtin}, {sizes}, dtype: f32", asked.hardware or "cpu")
        programs = distinct_programs(searches, asked, run)
        for one in programs:
            build_library(Path(one["folder"]), one["name"])
        done = subprocess.run([asked.python, script, json.dumps([[one["folder"], one["name"]] for one in programs]), str(asked.seconds)],
                              capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            sys.exit(f"{builtin}: {done.stderr[-2000:]}")
        times = json.loads(done.stdout)
        rank = spearman([one["cost_us"] for one in programs], times)
        rows.append({"builtin": builtin, "sizes": sizes, "programs": [one | {"ms": ms} for one, ms in zip(programs, times)], "spearman": rank})
        bars.append(Bar(f"{builtin}: rank correlation of cost and time, {len(programs)} programs", rank, 0.8, unit=""))
        if not asked.json:
            print(f"{builtin:26} {len(programs):3} programs, {min(times):.3f} to {max(times):.3f} ms, rank correlation {rank:.2f}; first of the "
                  f"model {times[0] / min(times):.2f}x of the quickest", flush=True)
    return rows, bars
