"""The paper's ablation of pruning on RMSNorm + linear in Mirage's space, and Z3 as the pruner.

`native` decides whether an expression is a part of the target's by its normal form; `z3` asks Z3 for every distinct
expression and falls back to the native test where Z3 does not know; `none` does not ask. Runs without native pruning are
cut off: their time is a lower bound, and their states say how far they came. The paper's seconds are wall time of its
own machine (RMSNorm; table "max number of block ops").
"""

from pathlib import Path

from common import Bar, Layout, Searches
from mugraph_common import (CODES, ONE, RMSNORM, Row, Section, Table, grouped, is_complete, middle, problem, run, seconds,
                            work_s)

LIMITS = range(5, 12)
WITH = dict(zip(LIMITS, ["11", "16", "22", "24", "26", "26", "28"]))
WITHOUT_THREADS = dict(zip(LIMITS, ["58", "93", "150", "152", "166", "166", "183"]))
WITHOUT_EXPRESSIONS = dict(zip(LIMITS, ["768", "19,934"] + ["> 10 h"] * 5))


def measure_limit(searches: Searches, limit: int, prune: str, cut_s: float, rounds: int = 1) -> Row:
    """A run that fails is a row too: it says so."""
    text = problem(RMSNORM, f"{{from: mirage, max_block_ops: {limit}}}", prune)
    runs = [run(searches, text, limit_s=cut_s, codes=(1, *CODES)) for _ in range(rounds)]
    last = runs[-1]
    return {"max_block_ops": limit, "prune": prune, "stop_reason": last["stop_reason"], "is_complete": is_complete(last),
            "cut_s": cut_s, "work_s": middle(list(map(work_s, runs))), "results": last["results"],
            "states": last["mugraph"]["states"], "candidates": last["mugraph"]["candidates_examined"],
            "solver_queries": last["mugraph"]["solver_queries"], "peak_mb": last["peak_rss_bytes"] / 1e6}


def measure_ablation(searches: Searches, is_quick: bool) -> list[Row]:
    rows = [measure_limit(searches, limit, "native", 60, 3 if is_quick else 9) for limit in LIMITS]
    rows += [measure_limit(searches, limit, "none", 8 if is_quick else 60) for limit in ([5] if is_quick else [5, 6, 7])]
    rows += [measure_limit(searches, limit, "z3", 8 if is_quick else 30) for limit in ([5] if is_quick else LIMITS)]
    return rows


def ended(row: Row | None) -> str:
    if row is None:
        return "-"
    spent = seconds(row["work_s"]["median"])
    if row["is_complete"]:
        return spent
    states = f"after {grouped(row['states'])} states"
    return f"cut off {states}, > {spent}" if row["stop_reason"] == "time_limit" else f"{row['stop_reason']} {states}"


def ablation_table(rows: list[Row]) -> Table:
    header = ["block ops", "native CPU", "states", "candidates", "results", "paper", "paper, no threads", "no pruning: CPU",
              "paper", "z3: CPU", "queries"]
    found = {(row["max_block_ops"], row["prune"]): row for row in rows}
    cells = []
    for limit in LIMITS:
        native, z3 = found[limit, "native"], found.get((limit, "z3"))
        cells.append([limit, ended(native), grouped(native["states"]), grouped(native["candidates"]), native["results"],
                      f"{WITH[limit]} s", f"{WITHOUT_THREADS[limit]} s", ended(found.get((limit, "none"))),
                      WITHOUT_EXPRESSIONS[limit] + ("" if "h" in WITHOUT_EXPRESSIONS[limit] else " s"), ended(z3),
                      z3["solver_queries"] if z3 else "-"])
    return header, cells


def times_of_threads(folder: Path) -> dict | None:
    """Seconds of all working threads by the kind of event, and what of it was CPU time. None without h5py."""
    try:
        import h5py
    except ImportError:
        return None
    total = {"wait": 0.0, "all": 0.0, "cpu": 0.0}
    for shard in folder.glob("trace/segment-*/rank-*.h5"):
        with h5py.File(shard) as file:
            kinds = h5py.check_enum_dtype(file["events"].dtype["kind"])
            events = file["events"][:]
        events = events[events["thread"] > 0]
        total["all"] += 1e-9 * events["duration_ns"].sum()
        total["cpu"] += 1e-9 * events["useful_ns"].sum()
        total["wait"] += 1e-9 * events[events["kind"] == kinds["wait"]]["duration_ns"].sum()
    return total


def measure_threads(searches: Searches, threads: int, block_ops: int) -> Row:
    """To its end, so that every number of threads has the same to do."""
    text = problem(RMSNORM, f"{{from: mirage, max_block_ops: {block_ops}}}", "z3")
    summary = run(searches, text, Layout(1, threads), 90)
    counts, times = summary["mugraph"], times_of_threads(Path(summary["run"]))
    spent = counts.get("solver_cpu_seconds", summary["phases"]["search"])
    return {"threads": threads, "stop_reason": summary["stop_reason"], "states": counts["states"],
            "queries": counts["solver_queries"], "seconds": summary["seconds"], "search_s": summary["phases"]["search"],
            "per_s": counts["solver_queries"] / summary["seconds"],
            "ms_a_query": 1e3 * spent / max(1, counts["solver_queries"]), "peak_mb": summary["peak_rss_bytes"] / 1e6,
            "waiting": times["wait"] / times["all"] if times else None,
            "without_cpu": 1 - (times["cpu"] + times["wait"]) / times["all"] if times else None}


def measure_z3(searches: Searches, is_quick: bool) -> list[Row]:
    block_ops, rounds = (4, 1) if is_quick else (5, 3)
    best: dict[int, Row] = {}
    for _ in range(rounds):
        for threads in (1, 2):
            row = measure_threads(searches, threads, block_ops)
            if threads not in best or row["seconds"] < best[threads]["seconds"]:
                best[threads] = row
    return [row | {"ratio": best[1]["seconds"] / row["seconds"], "cpu_ratio": row["search_s"] / best[1]["search_s"]}
            for row in best.values()]


def z3_bars(rows: list[Row]) -> list[Bar]:
    """Queries beyond those of one thread are answers that were not shared."""
    one, two = rows
    return [Bar("Z3, 1 x 2 against 1 x 1", two["ratio"], 1.85),
            Bar("Z3 queries of 2 threads / of 1", two["queries"] / one["queries"], 1.0, is_most=True)]


def share(value: float | None) -> str:
    return "no h5py" if value is None else f"{100 * value:.1f} %"


def z3_table(rows: list[Row]) -> Table:
    header = ["threads, a context each", "states", "queries", "wall", "queries/s, wall", "against 1", "CPU against 1",
              "CPU a query", "without work", "runnable or blocked, no CPU", "memory", "stopped by"]
    return header, [[row["threads"], row["states"], row["queries"], seconds(row["seconds"]), f"{row['per_s']:.1f}",
                     f"{row['ratio']:.2f}x", f"{row['cpu_ratio']:.3f}x", f"{row['ms_a_query']:.0f} ms", share(row["waiting"]),
                     share(row["without_cpu"]),
                     f"{row['peak_mb']:.0f} MB", row["stop_reason"]] for row in rows]


SECTIONS = [Section("ablation", "Ablation of pruning: RMSNorm + linear, Mirage's space", measure_ablation, ablation_table),
            Section("z3", "Z3 as the pruner (wall clock)", measure_z3, z3_table, z3_bars, is_wall=True)]
