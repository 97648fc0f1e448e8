#!/usr/bin/env python3
"""The superoptimizer measured: against Mirage, candidates per second, scaling, policies, ablation of pruning, Z3.

CPU-time numbers mean about the same on a loaded machine, wall-clock ones do not; the load is written beside each table.
Every run has a limit of its own, and one that is cut off says so. --quick takes under 3 minutes. The times that threads wait
for work are read with h5py and left out without it.

Writes mugraph.json and mugraph.md into perf/out.
"""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import mugraph_mirage
import mugraph_parallel
import mugraph_prune
from common import IDLE_LOAD, OUT, Bar, Searches, load_warning, markdown, parser, print_table
from mugraph_common import Section

SECTIONS = mugraph_mirage.SECTIONS + mugraph_parallel.SECTIONS + mugraph_prune.SECTIONS
BARS = ["bar", "measured", "limit", ""]


def measure(programs: Path, is_quick: bool, names: list[str] | None = None) -> dict[str, dict]:
    """By section: its rows, and the load before this script and after the section."""
    found = {}
    before = os.getloadavg()[0]
    with Searches(programs) as searches:
        for section in SECTIONS:
            if names and section.name not in names:
                continue
            rows = section.measure(searches, is_quick)
            found[section.name] = {"rows": rows, "load": before, "load_after": os.getloadavg()[0], "is_quick": is_quick}
    return found


def chosen_sections(found: dict[str, dict]) -> list[Section]:
    return [section for section in SECTIONS if section.name in found]


def is_disturbed(section: Section, found: dict) -> bool:
    return section.is_wall and found["load"] >= IDLE_LOAD


def section_bars(section: Section, found: dict) -> list[Bar]:
    mark = " (loaded machine)" if is_disturbed(section, found) else ""
    return [replace(bar, name=bar.name + mark) for bar in section.bars(found["rows"])]


def bars(found: dict[str, dict]) -> list[Bar]:
    return [bar for section in chosen_sections(found) for bar in section_bars(section, found[section.name])]


def heading(section: Section, found: dict) -> str:
    text = f"{section.title}; load average {found['load']:.1f} before, {found['load_after']:.1f} after"
    text += ", quick" if found["is_quick"] else ""
    return text + (": to be measured on an idle machine" if is_disturbed(section, found) else "")


def write(found: dict[str, dict], out: Path) -> None:
    """Sections that were not measured keep what an earlier run wrote."""
    out.mkdir(parents=True, exist_ok=True)
    file = out / "mugraph.json"
    merged = (json.loads(file.read_text()) if file.exists() else {}) | found
    file.write_text(json.dumps(merged, indent=2) + "\n")
    parts = [f"## {heading(section, merged[section.name])}\n\n" + markdown(*section.table(merged[section.name]["rows"]))
             for section in chosen_sections(merged)]
    parts.append("## Bars\n\n" + markdown(BARS, [bar.cells() for bar in bars(merged)]))
    (out / "mugraph.md").write_text("\n".join(parts))


def show(found: dict[str, dict]) -> None:
    for section in chosen_sections(found):
        print(f"{heading(section, found[section.name])}\n")
        print_table(*section.table(found[section.name]["rows"]))
        print()
    print_table(BARS, [bar.cells() for bar in bars(found)])


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("-o", "--out", type=Path, default=OUT)
    arguments.add_argument("--quick", action="store_true", help="smaller searches, fewer rounds")
    arguments.add_argument("--only", help="sections, comma-separated: " + ", ".join(section.name for section in SECTIONS))
    chosen = arguments.parse_args()
    names = chosen.only.split(",") if chosen.only else None
    if unknown := set(names or []) - {section.name for section in SECTIONS}:
        arguments.error(f"--only: no section {', '.join(sorted(unknown))}")
    if load_warning() and not chosen.json:
        print(f"warning: {load_warning()}\n")
    found = measure(chosen.bin, chosen.quick, names)
    write(found, chosen.out)
    print(json.dumps(found, indent=2)) if chosen.json else show(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
