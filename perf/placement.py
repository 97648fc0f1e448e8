#!/usr/bin/python3
"""How long the synthesis of all programs of collectives takes, and the sweep beside the paper's headline.

CPU seconds are of the whole search, start and files included; the speed-up with two threads is of wall times, so it needs an idle
machine.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import common
from common import Bar

TWO = [("node", 4, "8GB/s", "10us"), ("gpu", 16, "270GB/s", "2us")]
THREE = [("rack", 2, "4GB/s", "20us"), ("node", 4, "8GB/s", "10us"), ("gpu", 4, "270GB/s", "2us")]
FOUR = [("pod", 2, "4GB/s", "20us"), *THREE]
PAPER = {"improved_share": 0.69, "best_speedup": 2.04, "mean_speedup": 1.27, "placement_spread": 448}


def experiment(levels: list, steps: int) -> str:
    rows = ", ".join(f"{{name: {name}, size: {size}, bandwidth: {rate}, latency: {time}}}" for name, size, rate, time in levels)
    devices = 1
    for level in levels:
        devices *= level[1]
    return (f"problem:\n  kind: placement\n  hierarchy: [{rows}]\n  axes: {{a: {devices}}}\n  max_steps: {steps}\n"
            "results: {path: run}\n")


def search(program: Path, yaml: Path, folder: str, threads: int) -> dict:
    done = subprocess.run([program, "search", yaml, "--results", Path(folder) / "run", "--force", "--threads", str(threads), "--json", "-q"],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def measure(folder: Path, rounds: int = 3) -> dict:
    program = folder / "espalier"
    found = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name, levels, steps in (("two levels, 64 devices, 5 steps", TWO, 5), ("three levels, 32 devices, 5 steps", THREE, 5),
                                    ("three levels, 32 devices, 6 steps", THREE, 6), ("four levels, 64 devices, 5 steps", FOUR, 5), ("four levels, 64 devices, 6 steps", FOUR, 6)):
            yaml = Path(scratch) / "experiment.yaml"
            yaml.write_text(experiment(levels, steps))
            runs = {threads: [] for threads in (1, 2)}
            for _ in range(rounds):
                for threads, list_of in runs.items():
                    list_of.append(search(program, yaml, scratch, threads))
            found[name] = {"programs": runs[1][0]["placement"]["programs"], "cpu_s": min(run["cpu_seconds"] for run in runs[1]),
                           "speed_up": min(run["seconds"] for run in runs[1]) / min(run["seconds"] for run in runs[2])}
        sweep = Path(__file__).resolve().parent.parent / "config/placement/paper-sweep.yaml"
        found["sweep"] = search(program, sweep, scratch, 2)["placement"]
    return found


def bars(found: dict) -> list[Bar]:
    return [Bar("placement: two levels, 64 devices, 5 steps, CPU time", found["two levels, 64 devices, 5 steps"]["cpu_s"], 0.2, is_most=True, unit="s"),
            Bar("placement: three levels, 32 devices, 5 steps, CPU time", found["three levels, 32 devices, 5 steps"]["cpu_s"], 1, is_most=True, unit="s"),
            Bar("placement: four levels, 5 steps, 2 threads", found["four levels, 64 devices, 5 steps"]["speed_up"], 1.7),
            Bar("placement: four levels, 6 steps, 2 threads", found["four levels, 64 devices, 6 steps"]["speed_up"], 1.7)]


def main() -> None:
    chosen = common.parser(__doc__).parse_args()
    found = measure(chosen.bin)
    for name, row in found.items():
        if name != "sweep":
            print(f"{name:<36} {row['programs']:>6} programs  {row['cpu_s']:.3f} CPU s  2 threads {row['speed_up']:.2f}x")
    print("\nsweep of config/placement/paper-sweep.yaml      here   published (P2, other machines and bandwidths)")
    for key, published in PAPER.items():
        print(f"  {key:<40} {found['sweep'][key]:>8.2f}   {published}")
    print()
    common.print_table(["bar", "measured", "limit", ""], [bar.cells() for bar in bars(found)])


if __name__ == "__main__":
    sys.exit(main())
