"""What the benchmarks of the superoptimizer share: its programs, one run that ends in time, one section of the output."""

from dataclasses import dataclass
from statistics import median
from typing import Callable

from common import Bar, Layout, Searches

ONE = Layout(1, 1)
PATIENCE_S = 180            # beyond a run's own limit: a batch of candidates or a query is finished first
CODES = (0, 5, 85)          # done, nothing found, stopped at its limit

RMSNORM = "{builtin: rmsnorm_linear, tokens: 2, hidden: 4096, out: 6144}"
PRIMITIVE = "{builtin: rmsnorm_linear_primitive, tokens: 2, hidden: 4096, out: 6144}"
GATED_MLP = "{builtin: gated_mlp, tokens: 8, hidden: 4096, out: 4096}"

Row = dict
Table = tuple[list[str], list[list]]


@dataclass(frozen=True)
class Section:
    """One table of the output: how its rows are measured and shown, and which bars they have."""
    name: str
    title: str
    measure: Callable[[Searches, bool], list[Row]]      # the bool: quick
    table: Callable[[list[Row]], Table]
    bars: Callable[[list[Row]], list[Bar]] = lambda rows: []
    is_wall: bool = False                               # its bars need an idle machine


def problem(program: str, space: str, prune: str = "native") -> str:
    return f"{{kind: mugraph, program: {program}, space: {space}, prune: {prune}, hardware: a100}}"


def finish(process, limit_s: float, codes: tuple[int, ...] = CODES) -> dict:
    return Searches.finish(process, codes, limit_s + PATIENCE_S)


def start(searches: Searches, text: str, layout: Layout, limit_s: float, **settings):
    """Without proofs: what is compared has none."""
    return searches.start(text, layout, **({"verify__prove": "false", "search__max_time": f"{limit_s}s"} | settings))


def run(searches: Searches, text: str, layout: Layout = ONE, limit_s: float = 60, codes: tuple[int, ...] = CODES,
        **settings) -> dict:
    return finish(start(searches, text, layout, limit_s, **settings), limit_s, codes)


def work_s(summary: dict) -> float:
    """CPU seconds that searched and verified."""
    return summary["phases"]["search"] + summary["phases"]["verify"]


def is_complete(summary: dict) -> bool:
    return summary["stop_reason"] == "complete"


def middle(values: list[float]) -> dict[str, float]:
    return {"median": median(values), "min": min(values), "max": max(values)}


def grouped(number: int) -> str:
    return f"{number:,}"


def seconds(value: float) -> str:
    return f"{value:.4f} s" if value < 1 else f"{value:.2f} s"
