#!/usr/bin/env python3
"""How well `espalier simulate` predicts, and what it costs.

Validation: the same search with 1, 2 and 4 ranks of one thread; the trace of the run with one rank predicts all three.
The ranks share the cores of this machine, and the simulation is told so (--shared-cores). The error is predicted
makespan / measured wall time - 1; the layouts take turns, several rounds, and the median of its size counts. Wall times
of a machine that others use say little: the load is shown.

Cost: 65,536 nodes of 64 threads, each policy in a process of its own: CPU time and peak memory.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from common import Bar, Layout, Searches, load_warning, parser, print_table, program

RANKS = (1, 2, 4)
POLICIES = ("static", "omp-dynamic", "hybrid")
MANY_NODES, MANY_THREADS = 65_536, 64
PROBLEM = "{{kind: uts, tree: {tree}, granularity: {granularity}}}"


def simulate(programs: Path, run: Path, *arguments: str) -> tuple[dict, float, float]:
    """What it says, its CPU seconds and its peak memory in MiB."""
    command = [str(program(programs, "espalier")), "simulate", str(run), "--json", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {process.returncode}")
    return json.loads(out), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def predicted(programs: Path, run: Path) -> dict[int, dict]:
    cores = len(os.sched_getaffinity(0))
    told, _, _ = simulate(programs, run, "--nodes", ",".join(map(str, RANKS)), "--threads", "1", "--policy", "hybrid",
                          "--shared-cores", str(cores))
    return {row["nodes"]: row for row in told["predictions"]}


def messages_of(programs: Path, run: Path) -> int:
    """That the ranks sent each other, by their traces."""
    command = [str(program(programs, "espalier")), "trace", str(run), "--format", "json"]
    told = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return sum(rank["messages_sent"] for rank in told["ranks"])


def validate(programs: Path, searches: Searches, problem: str, rounds: int) -> list[dict]:
    rows = []
    for number in range(1, rounds + 1):
        load = os.getloadavg()[0]
        measured, messages = {}, {}
        for ranks in RANKS:
            measured[ranks] = searches.run(problem, Layout(ranks, 1))["seconds"]
            messages[ranks] = messages_of(programs, searches.folder / str(searches.count))
            if ranks == 1:
                prediction = predicted(programs, searches.folder / str(searches.count))
        rows += [{"round": number, "ranks": ranks, "measured": measured[ranks], "predicted": prediction[ranks]["makespan"],
                  "error": prediction[ranks]["makespan"] / measured[ranks] - 1, "messages": messages[ranks],
                  "predicted_messages": prediction[ranks]["messages"], "load": load} for ranks in RANKS]
    return rows


def cost(programs: Path, run: Path, work: str) -> list[dict]:
    rows = []
    for policy in POLICIES:
        told, cpu_s, peak_mib = simulate(programs, run, "--nodes", str(MANY_NODES), "--threads", str(MANY_THREADS),
                                         "--policy", policy, "--work", work)
        rows.append(told["predictions"][0] | {"work": told["work"], "cpu_seconds": cpu_s, "peak_mib": peak_mib})
    return rows


def measure(programs: Path, tree: str = "T1L", granularity: int = 2, rounds: int = 5, work: str = "x1000") -> dict:
    problem = PROBLEM.format(tree=tree, granularity=granularity)
    with Searches(programs) as searches:
        rows = validate(programs, searches, problem, rounds)
        searches.run(problem, Layout(1, 1))
        return {"tree": tree, "granularity": granularity, "validation": rows,
                "cost": cost(programs, searches.folder / str(searches.count), work)}


def median_error(details: dict, ranks: int) -> float:
    return statistics.median(abs(row["error"]) for row in details["validation"] if row["ranks"] == ranks)


def bars(details: dict) -> list[Bar]:
    found = [Bar(f"{ranks} rank{'s' if ranks > 1 else ''}: error of the predicted makespan, median",
                 100 * median_error(details, ranks), 10, is_most=True, unit="%") for ranks in RANKS]
    return found + [Bar(f"{MANY_NODES:,} nodes, {row['policy']}: CPU time of the simulation", row["cpu_seconds"], 60,
                        is_most=True, unit="s") for row in details["cost"]]


def show(details: dict) -> None:
    print_table(["round", "ranks", "measured", "predicted", "error", "messages", "predicted", "load"],
                [[row["round"], row["ranks"], f"{row['measured']:.3f} s", f"{row['predicted']:.3f} s",
                  f"{100 * row['error']:+.1f} %", row["messages"], row["predicted_messages"], f"{row['load']:.1f}"]
                 for row in details["validation"]])
    print()
    print_table([f"{MANY_NODES:,} x {MANY_THREADS}", "work", "makespan", "efficiency", "messages", "CPU", "peak"],
                [[row["policy"], f"x{row['work']:g}", f"{row['makespan']:.3f} s", f"{100 * row['efficiency']:.1f} %",
                  row["messages"], f"{row['cpu_seconds']:.1f} s", f"{row['peak_mib']:.0f} MiB"]
                 for row in details["cost"]])
    print()
    print_table(["bar", "measured", "limit", ""], [bar.cells() for bar in bars(details)])


def main() -> int:
    arguments: argparse.ArgumentParser = parser(__doc__)
    arguments.add_argument("--tree", default="T1L")
    arguments.add_argument("--granularity", type=int, default=2)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--work", default="x1000", help="of the large system: xN or auto")
    chosen = arguments.parse_args()
    if load_warning() and not chosen.json:
        print(f"warning: {load_warning()}\n")
    details = measure(chosen.bin, chosen.tree, chosen.granularity, chosen.rounds, chosen.work)
    print(json.dumps(details, indent=2)) if chosen.json else show(details)
    return 0


if __name__ == "__main__":
    sys.exit(main())
