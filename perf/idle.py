#!/usr/bin/env python3
"""What ranks without work cost.

The tree is a path (binomial, every node has one child with a probability close to 1), so that only one thread of all
ranks can ever work. Total CPU time of `mpiexec -n 4` over that of one rank, both as `search --json` says
(user + system of all ranks from process start), the best of several interleaved rounds. No environment variable is set.
"""

import json
import sys

from common import Bar, Layout, Searches, load_warning, parser, print_table

# 2,052,847 nodes in a row: the path of seed 8 is a long one.
PATH = "{{kind: uts, tree: {{type: binomial, b: 1, q: 0.999999, m: 1, seed: {seed}}}, granularity: {granularity}}}"
ALONE, FOUR = Layout(1, 1), Layout(4, 1)


def measure(searches: Searches, problem: str, rounds: int) -> dict:
    best: dict[str, dict] = {}
    for _ in range(rounds):
        for layout in (ALONE, FOUR):
            done = searches.run(problem, layout)
            if str(layout) not in best or done["cpu_seconds"] < best[str(layout)]["cpu_seconds"]:
                best[str(layout)] = {key: done[key] for key in ("nodes", "seconds", "cpu_seconds", "phases")}
    return best


def bars(best: dict) -> list[Bar]:
    ratio = best[str(FOUR)]["cpu_seconds"] / best[str(ALONE)]["cpu_seconds"]
    return [Bar("CPU of 4 ranks, one of them busy, against 1 rank", ratio, 1.15, is_most=True)]


def show(best: dict) -> None:
    rows = [[name, row["nodes"], f"{row['seconds']:.2f} s", f"{row['cpu_seconds']:.2f} s", f"{row['phases']['search']:.2f} s",
             f"{row['phases']['start']:.2f} s", f"{row['phases']['idle']:.2f} s"] for name, row in best.items()]
    print_table(["layout", "nodes", "wall", "CPU", "of it search", "start", "idle"], rows)
    print()
    print_table(["bar", "measured", "limit", ""], [bar.cells() for bar in bars(best)])


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--seed", type=int, default=8, help="of the path")
    arguments.add_argument("--granularity", type=int, default=70, help="hashes a node; 70 make it 10 s")
    chosen = arguments.parse_args()
    if load_warning() and not chosen.json:
        print(f"warning: {load_warning()}\n")
    with Searches(chosen.bin) as searches:
        best = measure(searches, PATH.format(seed=chosen.seed, granularity=chosen.granularity), chosen.rounds)
    print(json.dumps(best, indent=2)) if chosen.json else show(best)
    return 0


if __name__ == "__main__":
    sys.exit(main())
