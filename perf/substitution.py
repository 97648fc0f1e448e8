#!/usr/bin/python3
"""How long it takes to find and prove all rules between small graphs of operators, one thread.

CPU seconds and peak memory are of the whole program, files included: enumeration, keys, pairs and proofs. `--large` adds graphs of four
operators (minutes, and gigabytes on disk).
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import common
from common import Bar

# What TASO's public code took on the machine of the notes: 3 operators, 140 s and 7.1 GB.
TASO_S = 140


def search(program: Path, folder: Path, order: str, max_ops: int) -> dict:
    yaml = folder / "experiment.yaml"
    yaml.write_text(f"problem: {{kind: substitution, order: {order}, max_ops: {max_ops}}}\nresults: {{path: run}}\n")
    done = subprocess.run([program, "search", yaml, "--results", folder / "run", "--force", "--threads", "1", "--json", "-q"],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def measure(folder: Path, rounds: int = 3, large: bool = False) -> dict:
    found = {}
    with tempfile.TemporaryDirectory() as scratch:
        for order, max_ops, times in (("taso", 3, rounds), ("all", 3, rounds), *((("taso", 4, 1), ("all", 4, 1)) if large else ())):
            runs = [search(folder / "espalier", Path(scratch), order, max_ops) for _ in range(times)]
            found[f"{max_ops} operators, order {order}"] = {**runs[0]["substitution"], "cpu_s": min(run["cpu_seconds"] for run in runs),
                                                            "peak_mb": max(run["peak_rss_bytes"] for run in runs) / 1e6}
    return found


def bars(found: dict) -> list[Bar]:
    row = found["3 operators, order taso"]
    out = [Bar("substitution: 3 operators, CPU time", row["cpu_s"], 2, is_most=True, unit="s"),
           Bar("substitution: 3 operators, peak memory", row["peak_mb"], 200, is_most=True, unit="MB")]
    if (four := found.get("4 operators, order all")) is not None:
        out += [Bar("substitution: 4 operators, CPU time", four["cpu_s"], 150, is_most=True, unit="s"),
                Bar("substitution: 4 operators, peak memory", four["peak_mb"], 3000, is_most=True, unit="MB")]
    return out


def main() -> None:
    arguments = common.parser(__doc__)
    arguments.add_argument("--large", action="store_true", help="four operators too")
    chosen = arguments.parse_args()
    found = measure(chosen.bin, large=chosen.large)
    for name, row in found.items():
        print(f"{name:<26} {row['graphs']:>11,} graphs  {row['pairs']:>9,} pairs  {row['rules']:>7,} rules, {row['proved']:,} proved  "
              f"{row['cpu_s']:.2f} CPU s  {row['peak_mb']:.0f} MB")
    print(f"TASO's public code: {TASO_S} s and 7.1 GB for 3 operators\n")
    common.print_table(["bar", "measured", "limit", ""], [bar.cells() for bar in bars(found)])


if __name__ == "__main__":
    sys.exit(main())
