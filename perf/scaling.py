#!/usr/bin/env python3
"""Strong scaling on the cores of this machine, through the espalier program.

Each layout counts the same UTS tree; the layouts take turns, several rounds, and the best wall time of each counts
(`seconds` of `search --json`: the search itself, without process start). Speed-up is against 1 rank x 1 thread.
The control runs two independent 1 x 1 searches at once: twice the work in the time of the slower one. What it reaches
is what the machine has to give in that minute; a control far below 2x means that the other numbers say little.
"""

import json
import sys

from common import Bar, Layout, Searches, load_warning, parser, print_table

ONE = Layout(1, 1)
LAYOUTS = [ONE, Layout(1, 2), Layout(2, 1), Layout(4, 1)]
CONTROL = "control: 2 processes of 1 x 1"


def control(searches: Searches, problem: str) -> dict:
    """Two searches at once, as if they were one of twice the size."""
    both = [searches.finish(p) for p in [searches.start(problem, ONE) for _ in range(2)]]
    return {"seconds": max(one["seconds"] for one in both) / 2, "cpu_seconds": sum(one["cpu_seconds"] for one in both) / 2}


def better(best: dict | None, new: dict) -> dict:
    """Wall and CPU time are the best on their own."""
    new = {key: new[key] for key in ("seconds", "cpu_seconds")}
    return new if best is None else {key: min(best[key], new[key]) for key in new}


def measure(searches: Searches, tree: str, rounds: int) -> dict[str, dict]:
    problem = f"{{kind: uts, tree: {tree}}}"
    best: dict[str, dict] = {}
    for _ in range(rounds):
        for layout in LAYOUTS:
            best[str(layout)] = better(best.get(str(layout)), searches.run(problem, layout))
        best[CONTROL] = better(best.get(CONTROL), control(searches, problem))
    for row in best.values():
        row["speed_up"] = best[str(ONE)]["seconds"] / row["seconds"]
        row["cpu_ratio"] = row["cpu_seconds"] / best[str(ONE)]["cpu_seconds"]
    return best


def bars(best: dict[str, dict]) -> list[Bar]:
    def speed_up(ranks: int, threads: int) -> float:
        return best[str(Layout(ranks, threads))]["speed_up"]
    return [Bar("1 rank x 2 threads against 1 x 1", speed_up(1, 2), 1.85),
            Bar("2 ranks x 1 thread against 1 x 1", speed_up(2, 1), 1.85),
            Bar("4 ranks x 1 thread on 2 cores against 2 ranks", speed_up(4, 1) / speed_up(2, 1), 0.9)]


def show(best: dict[str, dict]) -> None:
    rows = [[name, f"{row['seconds']:.3f} s", f"{row['speed_up']:.2f}x", f"{row['cpu_seconds']:.3f} s", f"{row['cpu_ratio']:.3f}x"]
            for name, row in best.items()]
    print_table(["layout", "wall", "speed-up", "CPU", "CPU against 1 x 1"], rows)
    print()
    print_table(["bar", "measured", "limit", ""], [bar.cells() for bar in bars(best)])


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--tree", default="T1L")
    arguments.add_argument("--rounds", type=int, default=5)
    chosen = arguments.parse_args()
    if load_warning() and not chosen.json:
        print(f"warning: {load_warning()}\n")
    with Searches(chosen.bin) as searches:
        best = measure(searches, chosen.tree, chosen.rounds)
    print(json.dumps(best, indent=2)) if chosen.json else show(best)
    return 0


if __name__ == "__main__":
    sys.exit(main())
