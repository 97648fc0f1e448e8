#!/usr/bin/env python3
"""Programs that the superoptimizer found, as code on one thread of this machine: beside what people use, beside what the machine can
do, and beside the input program that the same generator made.

    codegen.py --only blocks [--dtype f16]   # beside torch and onnxruntime, which a venv made here has (--venv; pip takes some minutes)
    codegen.py --only fused                  # is every built-in faster than its input, where the search says so?
    codegen.py --only ranks                  # does the cost model rank as measuring does? (Spearman)

CPU milliseconds, medians, everybody in turns, inputs cold (see src/codegen/README.md). The limit is the larger of bytes / read rate
and operations / rate of fused multiply-adds, both medians of the same rounds. Programs come from a search of the plain program; no
number of theirs is typed in here."""

import argparse
import json
import os
import sys
from pathlib import Path

import codegen_ranks
from codegen_blocks import BLOCKS, Block, limits_library, measure_limits, run_peers
from common import OUT, Bar, Searches, make_venv, parser, print_table

SECTIONS = ("blocks", "fused", "ranks")
PEERS = (["numpy"], ["torch"], ["onnxruntime", "onnx"])


def bars_of(row: dict, block: Block) -> list[Bar]:
    bars, name = block.bars, f"{block.name}, {row['dtype']}"
    out = []
    if row["dtype"] == "f32":
        if "best" in row and bars.f32:
            out.append(Bar(f"{name}: ratio to {row['best']['who']} ({row['best']['how']})", row["ratio"], bars.f32))
        if bars.share:
            out.append(Bar(f"{name}: share of the read rate", 100 * row["share"], 100 * bars.share, unit="%"))
        return out
    for key, ratio, bar in (("best", "ratio", bars.half_same), ("best_any", "ratio_any", bars.half_any)):
        if key in row and bar:
            out.append(Bar(f"{name}: ratio to {row[key]['who']} {row[key]['dtype']} ({row[key]['how']})", row[ratio], bar))
    return out


def with_peers(row: dict, told: dict, block: Block) -> dict:
    """The row, with the fastest peer of the same dtype and of any."""
    own = next(one for one in told["rows"] if one["who"] == "espalier")
    others = sorted((one for one in told["rows"] if one["who"] != "espalier"), key=lambda one: one["ms"])
    limit = block.limit_ms(told, 4 if row["dtype"] == "f32" else 2)
    row |= {"ms": own["ms"], "ci_ms": own["ci_ms"], "limit_ms": limit, "share": limit / own["ms"], "peers": others} | {
        key: told[key] for key in ("left_out", "versions", "read", "flops", "rounds")}
    same = [one for one in others if one["dtype"] == row["dtype"]]
    if same:
        row |= {"best": same[0], "ratio": same[0]["ms"] / own["ms"]}
    if others:
        row |= {"best_any": others[0], "ratio_any": others[0]["ms"] / own["ms"]}
    return row


def measure_block(searches: Searches, asked: argparse.Namespace, block: Block, dtype: str) -> dict | None:
    best = codegen_ranks.best_of(searches, asked, f"{block.program}, dtype: {dtype}")
    if best is None:
        return None
    row = {"block": block.name, "dtype": dtype, "ms": best["ms"], "speedup": best["speedup"], "max_error": best["max_error"]}
    limits = limits_library(searches.folder)
    if asked.python is None:
        limit = block.limit_ms(measure_limits(limits), 4 if dtype == "f32" else 2)
        return row | {"limit_ms": limit, "share": limit / best["ms"]}
    name = next(file.name[3:-3] for file in Path(best["folder"]).glob("lib*.so"))
    request = {"block": block.peer, "dtype": dtype, "peer_dtypes": ["f32"] if dtype == "f32" else ["f32", "f16", "bf16"],
               "ours": best["folder"], "name": name, "limits": str(limits), "seconds": asked.peer_seconds}
    return with_peers(row, run_peers(asked.python, request, searches.folder), block)


def say(row: dict) -> None:
    text = f"{row['block']:34} {row['dtype']:5}{row['ms']:9.3f} ms {100 * row['share']:4.0f} % of the limit ({row['limit_ms']:.2f} ms)"
    for key, ratio in (("best", "ratio"), ("best_any", "ratio_any")):
        if key in row and (key == "best" or row["dtype"] != "f32"):
            best = row[key]
            text += f"; {row[ratio]:.2f}x of {best['who']} {best['dtype']} {best['ms']:.2f} ms ({best['how']})"
    print(text + f"; {row['speedup']:.2f}x of the input program", flush=True)


def blocks_section(searches: Searches, asked: argparse.Namespace) -> tuple[list[dict], list[Bar]]:
    rows, bars = [], []
    for dtype in asked.dtype or ["f32"]:
        for block in BLOCKS:
            if asked.block not in block.name:
                continue
            row = measure_block(searches, asked, block, dtype)
            if row is None:
                print(f"{block.name}: nothing was found", file=sys.stderr)
                continue
            rows.append(row)
            bars += bars_of(row, block)
            if not asked.json:
                say(row)
    return rows, bars


def arguments() -> argparse.Namespace:
    made = parser(__doc__)
    made.add_argument("--only", default="blocks", help="sections, with commas: blocks (the default), fused, ranks")
    made.add_argument("--dtype", action="append", choices=["f32", "f16", "bf16"], help="of blocks; may be given several times; f32")
    made.add_argument("--block", default="", help="blocks and built-ins whose name contains this")
    made.add_argument("--hardware", default="", help="problem.hardware of the searches: the one that the search has by default")
    made.add_argument("--top", type=int, default=3, help="programs that are tried (3)")
    made.add_argument("--seconds", type=float, default=2, help="of measuring each (2)")
    made.add_argument("--search-seconds", type=int, default=60, help="after which a search ends (60)")
    made.add_argument("--peer-seconds", type=float, default=10, help="of measuring a block with its peers (10)")
    made.add_argument("--venv", type=Path, default=OUT / "peers", help="where peers are installed (perf/out/peers)")
    made.add_argument("--no-peers", action="store_true", help="install nothing, measure the emitted code alone")
    made.add_argument("--programs", type=int, default=50, help="of each built-in, for ranks (50)")
    return made.parse_args()


def main() -> None:
    asked = arguments()
    wanted = asked.only.split(",")
    if unknown := set(wanted) - set(SECTIONS):
        sys.exit(f"--only: no such section: {', '.join(unknown)}: use {', '.join(SECTIONS)}")
    sections = {"blocks": blocks_section, "fused": codegen_ranks.fused_section, "ranks": codegen_ranks.ranks_section}
    asked.python = None if asked.no_peers else make_venv(asked.venv, PEERS)
    if asked.python is None and "ranks" in wanted:
        sys.exit("--only ranks: needs the venv, for numpy")
    details, bars = {"load": os.getloadavg()[0], "cpu": codegen_ranks.cpu_name()}, []
    with Searches(asked.bin) as searches:
        for name in wanted:
            details[name], found = sections[name](searches, asked)
            bars += found
    if asked.json:
        print(json.dumps(details | {"bars": [bar.cells() for bar in bars]}))
        return
    if versions := next((row["versions"] for row in details.get("blocks", []) if "versions" in row), None):
        print("; ".join(f"{who} {text}" for who, text in versions.items()))
    print(f"{details['cpu']}, load {details['load']:.1f}")
    print_table(["bar", "measured", "limit", ""], [bar.cells() for bar in bars])


if __name__ == "__main__":
    main()
