#!/usr/bin/env python3
"""What CUDA kernels take according to ptxas (they are compiled for sm_80, not run), beside what the cost model says: registers of a
thread, shared memory of a block, and whether tiles of the next step are fetched while one is computed. Of the best programs of built-ins
that are one graph-defined kernel."""

import json
import re
import shutil
import statistics
import subprocess
import sys

from codegen import BLOCKS
from common import Layout, Searches, parser, print_table

BYTES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}


def text_of(command: list) -> str:
    return subprocess.run([str(one) for one in command], check=True, capture_output=True, text=True).stdout


def modelled(text: str) -> list[dict]:
    """Of each graph-defined kernel, from the table of show --explain."""
    kernels = []
    for part in re.split(r"(?m)^kernel \d+", text)[1:]:
        registers = re.search(r"registers of a thread\s+(\d+)(?:, (\d+) more)?", part)
        shared = re.search(r"shared memory of a block\s+([\d.]+) (\w+)", part)
        if registers and shared:
            kernels.append({"registers": int(registers[1]) + int(registers[2] or 0), "buffered": "second buffer" in part,
                            "shared": float(shared[1]) * BYTES[shared[2]]})
    return kernels


def compiled(folder, architecture: str) -> list[dict]:
    rows = [line.split() for line in (folder / "resources.txt").read_text().splitlines()]
    return [{"registers": int(row[2]), "spilled": int(row[3]), "shared": int(row[5])} for row in rows if len(row) == 6 and row[1] == architecture]


def compare(searches: Searches, block, dtype: str, top: int, seconds: float):
    searches.finish(searches.start(f"{{kind: mugraph, program: {{{block.program}, dtype: {dtype}}}}}", Layout(1, 1), search__max_time=f"{seconds}s"), (0, 85))
    run = searches.folder / str(searches.count)
    for rank in range(1, top + 1):
        folder = searches.folder / f"{searches.count}-{rank}"
        if subprocess.run([searches.program, "emit", run, "--target", "cuda", "--program", str(rank), "-o", folder], capture_output=True).returncode != 0:
            continue
        model = modelled(text_of([searches.program, "show", run, "--program", rank, "--explain"]).split("input program")[0])
        found = compiled(folder, "sm_80")
        if len(model) == len(found) == 1:
            text = next(path for path in folder.glob("*.cu") if not path.stem.endswith("_input")).read_text()
            kernel = text[text.index("KERNEL(", text.index("#define TENSORS")):]
            yield {"block": block.name, "dtype": dtype, "program": rank, **{f"model_{key}": value for key, value in model[0].items()}, **found[0],
                   "buffered": "FETCHED" in kernel, "tensor cores": "MMA_TILE(" in kernel}


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--dtype", action="append", choices=["f32", "f16", "bf16"], help="may be given several times; f16")
    arguments.add_argument("--only", default="", help="blocks whose name contains this")
    arguments.add_argument("--top", type=int, default=3, help="programs of each (3)")
    arguments.add_argument("--seconds", type=float, default=20, help="of searching each (20)")
    asked = arguments.parse_args()
    if shutil.which("nvcc") is None:
        sys.exit("no nvcc: install the CUDA toolkit")
    rows = []
    with Searches(asked.bin) as searches:
        for dtype in asked.dtype or ["f16"]:
            for block in BLOCKS:
                if asked.only in block.name:
                    rows += compare(searches, block, dtype, asked.top, asked.seconds)
    if asked.json:
        print(json.dumps({"rows": rows}))
        return
    print_table(["block", "dtype", "program", "tensor cores", "registers", "model", "spilled bytes", "shared KiB", "model", "fetched ahead", "model"],
                [[row["block"], row["dtype"], row["program"], "yes" if row["tensor cores"] else "no", row["registers"], row["model_registers"], row["spilled"],
                  f"{row['shared'] / 1024:.1f}", f"{row['model_shared'] / 1024:.1f}", "yes" if row["buffered"] else "no",
                  "yes" if row["model_buffered"] else "no"] for row in rows])
    if rows:
        ratios = [row["registers"] / row["model_registers"] for row in rows]
        print(f"compiled, not run; registers / model: median {statistics.median(ratios):.2f}, {min(ratios):.2f} to {max(ratios):.2f}; "
              f"{sum(row['spilled'] > 0 for row in rows)} of {len(rows)} spill; "
              f"fetched ahead as the model says: {sum(row['buffered'] == row['model_buffered'] for row in rows)}")


if __name__ == "__main__":
    main()
