#!/usr/bin/env python3
"""Every benchmark, and one table of the bars with PASS or MISS. --quick takes about 8 minutes, with small trees.

Wall-clock bars mean something on an idle machine only: the load before the start is shown, and so is the control of
scaling.py (two independent processes at once). Details go to perf/out/all.json.
"""

import argparse
import json
import os
import sys
from pathlib import Path

import idle
import mugraph
import placement
import policies
import scaling
import simulate
import substitution
from common import OUT, Bar, Searches, bench, load_warning, parser, print_table


def engine(chosen: argparse.Namespace, details: dict) -> list[Bar]:
    trees, rounds = ("T1,T3", "5") if chosen.quick else ("T1L,T3L", "5")
    details["engine"] = bench(chosen.bin, "engine_bench", "--trees", trees, "--rounds", rounds)
    found = []
    for row in details["engine"]:
        found += [Bar(f"{row['tree']}: one thread through the engine against a plain loop", row["engine_ratio"], 0.8),
                  Bar(f"{row['tree']}: engine, million nodes per CPU second", row["engine_million_per_s"], 5, unit="M/s"),
                  Bar(f"{row['tree']}: cost of tracing", 100 * row["trace_cost"], 2, is_most=True, unit="%")]
    return found


def cores(chosen: argparse.Namespace, details: dict) -> list[Bar]:
    with Searches(chosen.bin) as searches:
        details["scaling"] = scaling.measure(searches, "T1L", 2 if chosen.quick else 5)
    print(f"control of scaling: {details['scaling'][scaling.CONTROL]['speed_up']:.2f}x of 2 (two processes that share nothing)")
    return scaling.bars(details["scaling"])


def idle_ranks(chosen: argparse.Namespace, details: dict) -> list[Bar]:
    with Searches(chosen.bin) as searches:
        details["idle"] = idle.measure(searches, idle.PATH.format(seed=8, granularity=70), 1 if chosen.quick else 3)
    return idle.bars(details["idle"])


def many_ranks(chosen: argparse.Namespace, details: dict) -> list[Bar]:
    details["simulation"] = bench(chosen.bin, "simulation_bench", "--ranks", "1000" if chosen.quick else "1000,10000")
    return [Bar(f"{row['ranks']} simulated ranks, {row['shape']} tree", 100 * row["efficiency"], 97, unit="%")
            for row in details["simulation"]]


def superoptimizer(chosen: argparse.Namespace, details: dict) -> list[Bar]:
    details["mugraph"] = mugraph.measure(chosen.bin, chosen.quick)
    mugraph.write(details["mugraph"], chosen.out)
    return mugraph.bars(details["mugraph"])


def predictions(chosen: argparse.Namespace, details: dict) -> list[Bar]:
    details["simulate"] = simulate.measure(chosen.bin, rounds=1 if chosen.quick else 5)
    return simulate.bars(details["simulate"])


def large_traces(chosen: argparse.Namespace, details: dict) -> list[Bar]:
    details["trace"] = bench(chosen.bin, "trace_bench", "--events", "5000000" if chosen.quick else "50000000")
    return [Bar("analysis of a large trace, million events per CPU second", 1e-6 * details["trace"]["events_per_cpu_s"], 2, unit="M/s"),
            Bar("analysis of a large trace, peak memory", 1e-6 * details["trace"]["peak_bytes"], 1000, is_most=True, unit="MB")]


def synthesis(chosen: argparse.Namespace, details: dict) -> list[Bar]:
    details["placement"] = placement.measure(chosen.bin, 1 if chosen.quick else 3)
    return placement.bars(details["placement"])


def rules(chosen: argparse.Namespace, details: dict) -> list[Bar]:
    details["substitution"] = substitution.measure(chosen.bin, 1 if chosen.quick else 3)
    return substitution.bars(details["substitution"])


def compare_policies(chosen: argparse.Namespace) -> None:
    words = ["--bin", str(chosen.bin), "-o", str(chosen.out)]
    policies.main(words + (["--trees", "T3", "--rounds", "1", "--workers", "1,2,8,64"] if chosen.quick else []))


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("-o", "--out", type=Path, default=OUT)
    arguments.add_argument("--quick", action="store_true", help="smaller trees, fewer rounds")
    chosen = arguments.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    print(f"load average before the start: {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores")
    if load_warning():
        print(f"warning: {load_warning()}")
    details: dict = {"load": os.getloadavg()}
    bars = [bar for part in (engine, cores, idle_ranks, many_ranks, superoptimizer, predictions, large_traces, synthesis, rules) for bar in part(chosen, details)]
    (chosen.out / "all.json").write_text(json.dumps(details, indent=2) + "\n")
    compare_policies(chosen)
    print()
    print_table(["bar", "measured", "limit", ""], [bar.cells() for bar in bars])
    return 0 if all(bar.is_met for bar in bars) else 6


if __name__ == "__main__":
    sys.exit(main())
