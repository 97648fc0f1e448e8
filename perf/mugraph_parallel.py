"""The superoptimizer on two cores: speed-up and the three scheduling policies, on searches that take seconds.

Wall time is `seconds` of `search --json`, the best of interleaved rounds. Work is the CPU time that 1 x 1 spends in
searching and verifying; a makespan of 1.0 is work / workers. Programs are tested once and not proved, so that the search
dominates; a quick run keeps only the best schedule of a form, which leaves nearly no verification.
"""

from common import Bar, Layout, Searches
from mugraph_common import GATED_MLP, ONE, PRIMITIVE, Row, Section, Table, finish, problem, run, seconds, start, work_s

LIMIT_S = 120
TWO = [Layout(1, 2), Layout(2, 1)]
CONTROL = "control: 2 processes of 1 x 1"
POLICIES = ["static", "omp-dynamic", "hybrid"]
PUBLISHED_GAIN = 1.50       # of dynamic over static tasks, in Mirage
QUICK = problem(GATED_MLP, "{from: full, schedules: best}")


def control(searches: Searches, text: str) -> dict:
    """Two searches at once, as if they were one of twice the size."""
    both = [finish(p, LIMIT_S) for p in [start(searches, text, ONE, LIMIT_S, verify__tests=1) for _ in range(2)]]
    return {"seconds": max(one["seconds"] for one in both) / 2, "work_s": sum(map(work_s, both)) / 2}


def measure_layout(searches: Searches, text: str, layout: Layout, policy: str = "hybrid") -> dict:
    summary = run(searches, text, layout, LIMIT_S, codes=(0,), verify__tests=1, cluster__policy=policy)
    return {"seconds": summary["seconds"], "work_s": work_s(summary), "results": summary["results"]}


def note(best: dict, key, new: dict) -> None:
    """Wall and CPU time are the best on their own."""
    best[key] = new if key not in best else new | {name: min(best[key][name], new[name]) for name in ("seconds", "work_s")}


def measure_scaling(searches: Searches, is_quick: bool) -> list[Row]:
    text = QUICK if is_quick else problem(PRIMITIVE, "full")
    best: dict[str, dict] = {}
    for _ in range(1 if is_quick else 5):
        for layout in [ONE] + TWO:
            note(best, str(layout), measure_layout(searches, text, layout))
        note(best, CONTROL, control(searches, text))
    alone = best[str(ONE)]
    return [{"layout": name, "speed_up": alone["seconds"] / row["seconds"], "cpu_ratio": row["work_s"] / alone["work_s"]} | row
            for name, row in best.items()]


def scaling_table(rows: list[Row]) -> Table:
    return ["layout", "wall", "speed-up", "search + verify CPU", "CPU against 1 x 1", "results"], [
        [row["layout"], seconds(row["seconds"]), f"{row['speed_up']:.2f}x", seconds(row["work_s"]), f"{row['cpu_ratio']:.3f}x",
         row.get("results", "")] for row in rows]


def scaling_bars(rows: list[Row]) -> list[Bar]:
    return [Bar(f"superoptimizer, {row['layout']} against 1 x 1", row["speed_up"], 1.85)
            for row in rows if row["layout"] in map(str, TWO)]


def measure_policies(searches: Searches, is_quick: bool) -> list[Row]:
    text = QUICK if is_quick else problem(GATED_MLP, "full")
    best: dict[tuple[Layout, str], dict] = {}
    for _ in range(1 if is_quick else 3):
        note(best, (ONE, "hybrid"), measure_layout(searches, text, ONE))
        for layout in TWO:
            for policy in POLICIES:
                note(best, (layout, policy), measure_layout(searches, text, layout, policy))
    work = best.pop((ONE, "hybrid"))["work_s"]
    return [{"layout": str(layout), "policy": policy, "ideal_s": work / layout.workers,
             "over_ideal": row["seconds"] * layout.workers / work} | row for (layout, policy), row in best.items()]


def policies_table(rows: list[Row]) -> Table:
    by_layout: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_layout.setdefault(row["layout"], {})[row["policy"]] = row
    header = ["gated MLP, full space: makespan / ideal", "ideal", *POLICIES, "static / omp-dynamic", "static / hybrid",
              "published, at most"]
    cells = []
    for layout, found in by_layout.items():
        over = {policy: found[policy]["over_ideal"] for policy in POLICIES}
        cells.append([layout, seconds(found["hybrid"]["ideal_s"])] + [f"{over[policy]:.3f}" for policy in POLICIES]
                     + [f"{over['static'] / over[policy]:.2f}x" for policy in POLICIES[1:]] + [f"{PUBLISHED_GAIN:.2f}x"])
    return header, cells


def policies_bars(rows: list[Row]) -> list[Bar]:
    return [Bar(f"gated MLP, hybrid, {row['layout']}: makespan / ideal", row["over_ideal"], 1.08, is_most=True)
            for row in rows if row["policy"] == "hybrid"]


SECTIONS = [Section("scaling", "Scaling on two cores (wall clock)", measure_scaling, scaling_table, scaling_bars, is_wall=True),
            Section("policies", "Scheduling policies (wall clock)", measure_policies, policies_table, policies_bars,
                    is_wall=True)]
