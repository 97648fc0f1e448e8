#!/usr/bin/env python3
"""The three policies compared: makespan over the ideal (total work / workers), by the number of workers.

1.0 is perfect: every worker works all the time. Two kinds of numbers, kept apart in the table and in the plot:

measured   real runs on this machine, as many workers as it has cores: 1 rank x N threads, and N ranks x 1 thread.
           Total work is the CPU time that 1 x 1 spends in nodes; wall time is the best of several interleaved rounds.
           Hashes are repeated, so that nodes cost something like those of a real search.
simulated  virtual time (simulation_bench --policies): the same policy, master and link code and the same tree, with ranks of
           8 threads, 100 us nodes, and messages of 5 us + 1 ns a byte. Threads of a rank share at no cost.

Writes policies.json, policies.md and policies.svg into perf/out.
"""

import argparse
import json
import os
import sys
from pathlib import Path

from common import OUT, Layout, Searches, bench, load_warning, parser
from svg import Panel, Series, write_svg

POLICIES = ["static", "omp-dynamic", "hybrid"]
GRANULARITY = {"T3": 50, "T3L": 2}      # hashes a node, so that a measured run takes seconds
WORKERS = {"T3": "1,2,4,8,16,32,64,128,256", "T3L": "1,8,64,256"}


def layouts(cores: int) -> list[Layout]:
    more = [n for n in (2, 4, 8, 16, 32, 64) if n <= cores]
    return [Layout(1, 1)] + [Layout(1, n) for n in more] + [Layout(n, 1) for n in more]


def measure(searches: Searches, tree: str, chosen: argparse.Namespace) -> list[dict]:
    problem = f"{{kind: uts, tree: {tree}, granularity: {chosen.granularity or GRANULARITY.get(tree, 1)}}}"
    best: dict[tuple[Layout, str], dict] = {}
    for _ in range(chosen.rounds):
        for layout in layouts(os.cpu_count() or 1):
            for policy in POLICIES:
                run = searches.run(problem, layout, cluster__policy=policy)
                if (layout, policy) not in best or run["seconds"] < best[layout, policy]["seconds"]:
                    best[layout, policy] = run
    work = min(best[Layout(1, 1), policy]["phases"]["search"] for policy in POLICIES)
    return [{"tree": tree, "kind": "measured", "policy": policy, "workers": layout.workers, "ranks": layout.ranks,
             "threads": layout.threads, "makespan_s": run["seconds"],
             "over_ideal": run["seconds"] * layout.workers / work} for (layout, policy), run in best.items()]


def simulate(tree: str, chosen: argparse.Namespace) -> list[dict]:
    rows = bench(chosen.bin, "simulation_bench", "--policies", "--tree", tree,
                 "--workers", chosen.workers or WORKERS.get(tree, WORKERS["T3"]))
    return [row | {"kind": "simulated"} for row in rows]


def table(rows: list[dict]) -> str:
    """One line per layout, one column per policy."""
    lines = ["| tree | | workers | ranks x threads | " + " | ".join(POLICIES) + " |", "|---|---|---|---|" + "---|" * len(POLICIES)]
    groups: dict[tuple, dict[str, dict]] = {}
    for row in rows:
        # A simulated static run has one rank a worker; it belongs beside the others of as many workers.
        layout = (row["ranks"], row["threads"]) if row["kind"] == "measured" else ()
        groups.setdefault((row["tree"], row["kind"], row["workers"], layout), {})[row["policy"]] = row
    for (tree, kind, workers, _), by_policy in groups.items():
        last = by_policy["hybrid"]
        cells = " | ".join(f"{by_policy[policy]['over_ideal']:.3f}" for policy in POLICIES)
        lines.append(f"| {tree} | {kind} | {workers} | {last['ranks']} x {last['threads']} | {cells} |")
    return "\n".join(lines) + "\n"


def series(rows: list[dict], policy: str) -> list[Series]:
    def points(kind: str, is_threads: bool) -> list[tuple[float, float]]:
        return [(row["workers"], row["over_ideal"]) for row in rows
                if row["policy"] == policy and row["kind"] == kind and (row["ranks"] == 1 or not is_threads)]
    color = POLICIES.index(policy)
    return [Series(f"{policy}, simulated", points("simulated", False), color),
            Series(f"{policy}, measured (threads of 1 rank)", points("measured", True), color, is_marks=True)]


def plot(rows: list[dict], trees: list[str], file: Path) -> None:
    panels = [Panel(f"{tree}: makespan over the ideal", "workers", "makespan / (work / workers)",
                    [one for policy in POLICIES for one in series([r for r in rows if r["tree"] == tree], policy)])
              for tree in trees]
    write_svg(file, panels)


def main(words: list[str] | None = None) -> int:
    arguments = parser(__doc__)
    arguments.add_argument("-o", "--out", type=Path, default=OUT)
    arguments.add_argument("--trees", default="T3,T3L")
    arguments.add_argument("--workers", help="simulated numbers of workers, comma-separated")
    arguments.add_argument("--rounds", type=int, default=3, help="of the measured runs; 0 leaves them out")
    arguments.add_argument("--granularity", type=int, default=0, help="hashes a node of the measured runs")
    chosen = arguments.parse_args(words)
    trees = chosen.trees.split(",")
    rows: list[dict] = []
    with Searches(chosen.bin) as searches:
        for tree in trees:
            rows += (measure(searches, tree, chosen) if chosen.rounds > 0 else []) + simulate(tree, chosen)
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / "policies.json").write_text(json.dumps(rows, indent=2) + "\n")
    (chosen.out / "policies.md").write_text(table(rows))
    plot(rows, trees, chosen.out / "policies.svg")
    if load_warning() and not chosen.json:
        print(f"warning: {load_warning()}\n")
    print(json.dumps(rows, indent=2) if chosen.json else table(rows) + f"\nplot: {chosen.out / 'policies.svg'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
