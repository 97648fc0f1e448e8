#!/usr/bin/env python3
"""What it costs to resume with many open subtrees: CPU time of a run that is stopped and resumed over that of one that is not.

The root of a binomial tree has 100,000 or a million children, all of which are open when the run stops. Both executions count,
without what a process needs to start; the smallest of several interleaved rounds.
"""

import json
import sys

from common import Layout, Searches, load_warning, parser


def cpu(summary: dict) -> float:
    return summary["cpu_seconds"] - summary["phases"]["start"]


def measure(searches: Searches, children: int, granularity: int) -> dict:
    problem = f"{{kind: uts, tree: {{type: binomial, b: {children}, q: 0.2, m: 4, seed: 0}}, granularity: {granularity}}}"
    fresh = searches.run(problem, Layout(1, 1))
    stopped = Searches.finish(searches.start(problem, Layout(1, 1), search__max_nodes=1), codes=(85,))
    searches.count -= 1         # the same folder
    resumed = searches.run(problem, Layout(1, 1))
    if resumed["uts"] != fresh["uts"]:
        sys.exit(f"{resumed['uts']} after a resume, {fresh['uts']} without")
    return {"children": children, "fresh_cpu_s": cpu(fresh), "stopped_cpu_s": cpu(stopped), "resumed_cpu_s": cpu(resumed)}


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--granularity", type=int, default=60)
    chosen = arguments.parse_args()
    load_warning()
    rows = []
    with Searches(chosen.bin) as searches:
        for children in (100_000, 1_000_000):
            rounds = [measure(searches, children, chosen.granularity) for _ in range(chosen.rounds)]
            row = {key: min(one[key] for one in rounds) for key in rounds[0]}
            row["ratio"] = (row["stopped_cpu_s"] + row["resumed_cpu_s"]) / row["fresh_cpu_s"]
            rows.append(row)
    if chosen.json:
        return print(json.dumps(rows))
    print("| children | fresh | until the stop | after the resume | together / fresh |\n|---|---|---|---|---|")
    for row in rows:
        print(f"| {row['children']:,} | {row['fresh_cpu_s']:.2f} s | {row['stopped_cpu_s']:.2f} s | {row['resumed_cpu_s']:.2f} s "
              f"| {row['ratio']:.2f} |")


if __name__ == "__main__":
    main()
