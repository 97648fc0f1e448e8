"""What the benchmark scripts share: the programs, one search, one table."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
OUT = HERE / "out"
IDLE_LOAD = 0.3     # load average below which nobody else uses the machine


def parser(text: str) -> argparse.ArgumentParser:
    """Arguments that every script has."""
    made = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--bin", type=Path, default=HERE.parent / "build/release/bin", help="folder of the programs")
    made.add_argument("--json", action="store_true", help="print JSON in place of a table")
    return made


@dataclass(frozen=True)
class Layout:
    ranks: int
    threads: int

    def __str__(self) -> str:
        return f"{self.ranks} rank{'s' if self.ranks > 1 else ''} x {self.threads} thread{'s' if self.threads > 1 else ''}"

    @property
    def workers(self) -> int:
        return self.ranks * self.threads


def program(programs: Path, name: str) -> Path:
    if not (programs / name).exists():
        sys.exit(f"{programs / name}: not built: build the preset release, or name the folder with --bin")
    return programs / name


class Searches:
    """Runs `espalier search` in run folders of its own, which are deleted in the end."""

    def __init__(self, programs: Path):
        self.program = program(programs, "espalier")
        self.folder = Path(tempfile.mkdtemp(prefix="espalier-perf-"))
        self.count = 0

    def __enter__(self) -> "Searches":
        return self

    def __exit__(self, *_) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, problem: str, layout: Layout, **settings) -> subprocess.Popen:
        """`settings` are keys with __ for the dot, as `cluster__policy="static"`."""
        self.count += 1
        experiment = self.folder / f"{self.count}.yaml"
        experiment.write_text(f"problem: {problem}\nresults: {{path: {self.folder}/{self.count}}}\n")
        command = ["mpiexec", "-n", str(layout.ranks)] if layout.ranks > 1 else []
        command += [str(self.program), "search", str(experiment), "--json", "-q", "--threads", str(layout.threads)]
        for key, value in settings.items():
            command += ["--set", f"{key.replace('__', '.')}={value}"]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    @staticmethod
    def finish(process: subprocess.Popen, codes: tuple[int, ...] = (0,), patience_s: float | None = None) -> dict:
        """The summary; the script ends if the exit code is another one or the patience is over."""
        try:
            out, errors = process.communicate(timeout=patience_s)
        except subprocess.TimeoutExpired:
            process.terminate()
            sys.exit(f"{' '.join(process.args)}: not finished after {patience_s:.0f} s, its own limit did not stop it")
        if process.returncode not in codes:
            sys.exit(f"{' '.join(process.args)}: exit code {process.returncode}\n{errors}")
        return json.loads(out)

    def run(self, problem: str, layout: Layout, **settings) -> dict:
        return self.finish(self.start(problem, layout, **settings))


def bench(programs: Path, name: str, *arguments: str) -> list[dict]:
    """The JSON of one of the benchmark programs."""
    done = subprocess.run([str(program(programs, name)), *arguments, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{name} {' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def make_venv(folder: Path, wanted: "tuple[list[str], ...]") -> Path | None:
    """Its python; None if there is no venv or pip, or no package index. Packages that cannot be installed are left out, but for the
    first ones."""
    python = folder / "bin/python"
    if not python.exists() and subprocess.run([sys.executable, "-m", "venv", folder]).returncode != 0:
        return None
    for packages in wanted:
        if subprocess.run([python, "-c", f"import {', '.join(packages)}"], capture_output=True).returncode == 0:
            continue
        print(f"pip install {' '.join(packages)} into {folder}", file=sys.stderr, flush=True)
        done = subprocess.run([python, "-m", "pip", "install", "-q", "--no-input", *packages], capture_output=True, text=True)
        if done.returncode != 0:
            print(f"not installed: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr, flush=True)
            if packages == wanted[0]:
                return None
    return python


def print_table(header: list[str], rows: list[list]) -> None:
    cells = [header] + [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    for row in cells:
        print("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(row, widths))).rstrip())


def markdown(header: list[str], rows: list[list]) -> str:
    lines = [header, ["---"] * len(header)] + rows
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)


def load_warning() -> str:
    """Says so if others use this machine; empty if it is idle."""
    load = os.getloadavg()[0]
    if load < IDLE_LOAD:
        return ""
    return f"load average {load:.1f} on {os.cpu_count()} cores: wall-clock ratios below are of a shared machine"


@dataclass(frozen=True)
class Bar:
    """One line of the final table."""
    name: str
    value: float
    limit: float
    is_most: bool = False       # the limit is an upper one
    unit: str = "x"

    @property
    def is_met(self) -> bool:
        return self.value <= self.limit if self.is_most else self.value >= self.limit

    def cells(self) -> list[str]:
        sign = "<=" if self.is_most else ">="
        return [self.name, f"{self.value:.3f} {self.unit}", f"{sign} {self.limit:g} {self.unit}",
                "PASS" if self.is_met else "MISS"]
