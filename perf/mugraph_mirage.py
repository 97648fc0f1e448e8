"""The search against Mirage's: CPU time and memory in Mirage's own space, and how fast candidates are examined.

Mirage's numbers are those of its public code (commit de8745d9) with CPU fingerprints, one thread, in CPU seconds; LoRA and
the attention programs were stopped unfinished after the time given. CPU time here is that of the phases search and verify.
"""

from dataclasses import dataclass
from math import inf

from common import Bar, Searches
from mugraph_common import (GATED_MLP, PRIMITIVE, RMSNORM, Row, Section, Table, grouped, is_complete, middle, problem, run,
                            seconds, work_s)

ATTENTION = "batch: 1, heads: 8, kv_heads: 2, queries: 64, keys: 4096, head_dim: 64"
MOST_S = 10                 # CPU seconds of a program that Mirage does not finish
MOST_MB = 100               # peak memory of those that it finishes


@dataclass(frozen=True)
class Case:
    name: str
    program: str
    space: str
    mirage_s: float
    mirage_states: int
    mirage_mb: int
    least_ratio: float = 0      # 0: Mirage did not finish
    results: int = 0

    @property
    def is_compared(self) -> bool:
        return self.least_ratio > 0


CASES = [Case("RMSNorm + linear", RMSNORM, "mirage", 21, 36_932, 335, 500, 26),
         Case("gated MLP", GATED_MLP, "mirage", 128, 152_966, 1_182, 1_000, 22),
         Case("LoRA", "{builtin: lora, tokens: 16, hidden: 256, out: 4096, rank: 16}", "{from: mirage, setting: lora}",
              146, 90_942, 863),
         Case("GQA", f"{{builtin: gqa, {ATTENTION}}}", "{from: mirage, setting: attention}", 417, 628_964, 1_605),
         Case("QK-norm + GQA", f"{{builtin: qknorm_gqa, {ATTENTION}}}", "{from: mirage, setting: attention}",
              141, 136_502, 434)]


def rounds(case: Case, is_quick: bool) -> int:
    if case.is_compared:
        return 9 if is_quick else 25
    return 1 if is_quick else 5


def measure_case(searches: Searches, case: Case, is_quick: bool) -> Row:
    runs = [run(searches, problem(case.program, case.space), limit_s=60) for _ in range(rounds(case, is_quick))]
    work = middle([work_s(one) for one in runs])
    last = runs[-1]
    return {"case": case.name, "runs": len(runs), "is_complete": all(map(is_complete, runs)), "work_s": work,
            "search_s": middle([one["phases"]["search"] for one in runs]),
            "cpu_s": middle([one["cpu_seconds"] for one in runs]), "mirage_s": case.mirage_s,
            "ratio": case.mirage_s / work["median"], "best_ratio": case.mirage_s / work["min"],
            "peak_mb": max(one["peak_rss_bytes"] for one in runs) / 1e6, "results": last["results"],
            "states": last["mugraph"]["states"], "candidates": last["mugraph"]["candidates_examined"]}


def measure_mirage(searches: Searches, is_quick: bool) -> list[Row]:
    return [measure_case(searches, case, is_quick) for case in CASES]


def mirage_table(rows: list[Row]) -> Table:
    header = ["Mirage's space, 1 thread", "Mirage CPU", "median", "min", "ratio", "best ratio", "search only", "process",
              "memory", "Mirage's", "states", "Mirage's", "results", ""]
    cells = []
    for case, row in zip(CASES, rows):
        more = "" if case.is_compared else "> "
        cells.append([case.name, f"{more}{case.mirage_s:g} s", seconds(row["work_s"]["median"]), seconds(row["work_s"]["min"]),
                      f"{more}{row['ratio']:.0f}x", f"{more}{row['best_ratio']:.0f}x", seconds(row["search_s"]["median"]),
                      seconds(row["cpu_s"]["median"]), f"{row['peak_mb']:.0f} MB", f"{more}{case.mirage_mb} MB",
                      grouped(row["states"]), more + grouped(case.mirage_states), row["results"],
                      "complete" if row["is_complete"] else "cut off"])
    return header, cells


def case_bars(case: Case, row: Row) -> list[Bar]:
    if not case.is_compared:
        spent = row["cpu_s"]["median"] if row["is_complete"] else inf
        return [Bar(f"{case.name}, Mirage's space: complete, CPU time", spent, MOST_S, is_most=True, unit="s")]
    return [Bar(f"{case.name}, Mirage's space: CPU time of Mirage / ours, median of {row['runs']}", row["ratio"], case.least_ratio),
            Bar(f"{case.name}, Mirage's space: peak memory", row["peak_mb"], MOST_MB, is_most=True, unit="MB"),
            Bar(f"{case.name}, Mirage's space: programs", row["results"], case.results, unit="")]


def mirage_bars(rows: list[Row]) -> list[Bar]:
    return [bar for case, row in zip(CASES, rows) for bar in case_bars(case, row)]


RATES = {"gated MLP": GATED_MLP, "RMSNorm + linear, primitive": PRIMITIVE}


def measure_rate(searches: Searches, name: str, is_quick: bool) -> Row:
    runs = [run(searches, problem(RATES[name], "full"), limit_s=90, verify__tests=1) for _ in range(1 if is_quick else 5)]
    best = min(runs, key=lambda one: one["phases"]["search"] / one["mugraph"]["candidates_examined"])
    search, counts = best["phases"]["search"], best["mugraph"]
    rates = [1e-6 * one["mugraph"]["candidates_examined"] / one["phases"]["search"] for one in runs]
    return {"case": name, "runs": len(runs), "is_complete": all(map(is_complete, runs)), "search_s": search,
            "verify_s": best["phases"]["verify"], "states": counts["states"], "candidates": counts["candidates_examined"],
            "expressions": counts["expressions"], "states_per_s": counts["states"] / search, "million_per_s": middle(rates),
            "results": best["results"], "peak_mb": best["peak_rss_bytes"] / 1e6}


def measure_rates(searches: Searches, is_quick: bool) -> list[Row]:
    return [measure_rate(searches, name, is_quick) for name in RATES]


def rates_table(rows: list[Row]) -> Table:
    header = ["full space, native pruning, 1 thread", "search CPU", "states", "candidates", "expressions", "M states/s",
              "M candidates/s, best", "median", "memory", ""]
    return header, [[row["case"], seconds(row["search_s"]), grouped(row["states"]), grouped(row["candidates"]),
                     grouped(row["expressions"]), f"{1e-6 * row['states_per_s']:.3f}", f"{row['million_per_s']['max']:.2f}",
                     f"{row['million_per_s']['median']:.2f}", f"{row['peak_mb']:.0f} MB",
                     "complete" if row["is_complete"] else "cut off"] for row in rows]


def rates_bars(rows: list[Row]) -> list[Bar]:
    return [Bar(f"{row['case']}, full space: candidates per CPU second of the search, best of {row['runs']}",
                row["million_per_s"]["max"], 10, unit="M/s") for row in rows]


SECTIONS = [Section("mirage", "Against Mirage: CPU seconds of search and verification", measure_mirage, mirage_table, mirage_bars),
            Section("rates", "Candidates per CPU second of the search", measure_rates, rates_table, rates_bars)]
