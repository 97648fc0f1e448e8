#!/usr/bin/env python3
"""What `espalier optimize` gains on whole networks, over what the back end makes of them by itself (full optimization), one thread.

    optimize.py [--only nasrnn,pp-lcnet] [--pairs 10]

The networks are made by tests/support/networks.py, with random weights. Input and output are measured in turns, each time in a new process,
denormals as zero; a pair's ratio is input / output of the medians, and the interval is that of the median of all pairs (95 %). The error
is the largest difference between both models' outputs on the back end, over the largest output. The back end is onnxruntime in a venv that the
script makes (--venv), or any other (--backend). Search seconds are those of the process; what the back end takes for measuring is apart.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import common
from common import HERE, OUT, Bar

NETWORKS = HERE.parent / "tests/support/networks.py"
SYSTEM_PYTHON = "/usr/bin/python3"      # it has what networks.py needs
# By network, what the output is to be faster than the input at least; 0: it must not be slower.
GAINS = {"mobilenet-v3": 1.3, "pp-lcnet": 1.3, "lcnet-v3": 1.3, "resnet-50": 0, "resnext-50": 1.08, "bert-layer": 0, "nasnet-cell": 0,
         "squeezenet": 0, "nasrnn": 1.4}
MOST_SEARCH_S = 60
HEADER = ["network", "nodes", "understood", "rewrites", "nodes after", "before ms", "after ms", "ratio", "95 %", "search CPU s", "max error"]
COMPARE = """
import json, sys, numpy
before, after = (numpy.load(file) for file in sys.argv[1:])
assert set(before.files) == set(after.files), "other outputs"
wide = [(before[name].astype(float), after[name].astype(float)) for name in before.files]
print(json.dumps(max(float(abs(a - b).max() / max(abs(a).max(), 1e-30)) for a, b in wide)))
"""


@dataclass
class Pairs:
    """Input and output, measured in turns."""
    before: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)

    @property
    def ratios(self) -> list[float]:
        return [before / after for before, after in zip(self.before, self.after)]

    def interval(self) -> tuple[float, float]:
        """Of the median: the closest order statistics between which it is with 95 %, whatever the distribution is."""
        ratios = sorted(self.ratios)
        n, below, left_out = len(ratios), 0.0, 0
        while left_out < n // 2 and (below := below + math.comb(n, left_out) / 2 ** n) <= 0.025:
            left_out += 1
        first = max(left_out - 1, 0)
        return ratios[first], ratios[n - 1 - first]


class BackEnd:
    def __init__(self, command: str, python: Path | None):
        self.command = command
        self.environment = os.environ | ({"ESPALIER_BACKEND_PYTHON": str(python)} if python else {})
        self.python = python or sys.executable
        self.name = ""

    def run(self, model: Path, inputs: Path) -> tuple[float, Path]:
        """Median milliseconds, and the file of the outputs."""
        done = subprocess.run(["/bin/sh", "-c", f'exec {self.command} "$@"', "backend", model, inputs, "1"], env=self.environment,
                              capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{model}: {done.stderr.strip()}")
        told = json.loads(done.stdout)
        self.name = told.get("backend", "")
        return statistics.median(told["ms"]), Path(told["outputs"])

    def max_error(self, before: Path, after: Path) -> float:
        done = subprocess.run([self.python, "-c", COMPARE, before, after], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{after}: {done.stderr.strip()}")
        return json.loads(done.stdout)


def make_network(name: str, folder: Path) -> tuple[Path, Path]:
    """The model and its inputs. They lie apart for both models, because a back end writes beside them."""
    model, inputs = folder / f"{name}.onnx", folder / f"{name}.npz"
    subprocess.run([SYSTEM_PYTHON, "-B", NETWORKS, name, "-o", model, "--inputs", inputs], check=True)
    return model, inputs


def optimize(asked: argparse.Namespace, backend: BackEnd, model: Path, output: Path) -> dict:
    command = [common.program(asked.bin, "espalier"), "optimize", model, "-o", output, "--backend", backend.command, "--threads", "1",
               "--cost", "measured", "--results", output.with_suffix(".run"), "--json", "-q"]
    command += ["--max-time", asked.max_time] if asked.max_time else []
    command += ["--rules", asked.rules] if asked.rules else []
    done = subprocess.run(command, env=backend.environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def measure_pairs(backend: BackEnd, models: tuple[Path, Path], inputs: Path, count: int) -> tuple[Pairs, float]:
    """One model first, then the other, then the other way round; and the largest error."""
    both = [inputs.with_name(f"{side}.npz") for side in ("before", "after")]
    for one in both:
        one.write_bytes(inputs.read_bytes())
    pairs, outputs = Pairs(), {}
    for i in range(count):
        for side in (0, 1) if i % 2 == 0 else (1, 0):
            ms, outputs[side] = backend.run(models[side], both[side])
            (pairs.before, pairs.after)[side].append(ms)
    return pairs, backend.max_error(outputs[0], outputs[1])


def measure_network(asked: argparse.Namespace, backend: BackEnd, name: str, folder: Path) -> dict:
    model, inputs = make_network(name, folder)
    output = folder / f"{name}.out.onnx"
    told = optimize(asked, backend, model, output)
    is_changed = output.read_bytes() != model.read_bytes()
    pairs, error = measure_pairs(backend, (model, output), inputs, asked.pairs)
    low, high = pairs.interval()
    return {"network": name, **told["rewrite"], "is_changed": is_changed, "before_ms": statistics.median(pairs.before),
            "after_ms": statistics.median(pairs.after), "ratio": statistics.median(pairs.ratios), "low": low, "high": high,
            "pairs": len(pairs.before), "search_cpu_s": told["cpu_seconds"], "max_error": error}


def cells(row: dict) -> list[str]:
    return [row["network"], row["nodes"], row["understood"], row["rewrites"], row["nodes_after"], f"{row['before_ms']:.3f}",
            f"{row['after_ms']:.3f}", f"{row['ratio']:.3f}" + ("" if row["is_changed"] else " (unchanged)"),
            f"{row['low']:.3f} to {row['high']:.3f}", f"{row['search_cpu_s']:.1f}", f"{row['max_error']:.1e}"]


def bars(rows: list[dict]) -> list[Bar]:
    out = []
    for row in rows:
        name, gain = row["network"], GAINS[row["network"]]
        if gain:
            out.append(Bar(f"{name}: faster than its input", row["ratio"], gain))
        else:   # slower only if all of the interval says so
            out.append(Bar(f"{name}: not slower than its input, upper end", row["high"], 1.0))
        out.append(Bar(f"{name}: search, CPU time", row["search_cpu_s"], MOST_SEARCH_S, is_most=True, unit="s"))
    return out


def write(rows: list[dict], backend: BackEnd, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    text = f"{backend.name}, one thread; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; {rows[0]['pairs']} pairs of processes\n\n"
    (out / "optimize.md").write_text(text + common.markdown(HEADER, [cells(row) for row in rows]))


def arguments() -> argparse.Namespace:
    made = common.parser(__doc__)
    made.add_argument("--only", default=",".join(GAINS), help="networks, with commas (all)")
    made.add_argument("--pairs", type=int, default=10, help="of processes that are measured (10)")
    made.add_argument("--max-time", default="", help="of the search, as for optimize")
    made.add_argument("--rules", default="", help="a file of rules, as for optimize")
    made.add_argument("--backend", default="", help="a command; run/backend-onnxruntime in the venv")
    made.add_argument("--venv", type=Path, default=OUT / "peers", help="where onnxruntime is installed (perf/out/peers)")
    made.add_argument("--keep", type=Path, help="a folder for the models, which are deleted otherwise")
    made.add_argument("-o", "--out", type=Path, default=OUT)
    return made.parse_args()


def main() -> None:
    asked = arguments()
    names = asked.only.split(",")
    if unknown := set(names) - set(GAINS):
        sys.exit(f"--only: no such network: {', '.join(sorted(unknown))}: use {', '.join(GAINS)}")
    python = None if asked.backend else common.make_venv(asked.venv, (["numpy"], ["onnxruntime"]))
    if not asked.backend and python is None:
        sys.exit("onnxruntime cannot be installed here: name another back end with --backend")
    backend = BackEnd(asked.backend or f"'{HERE.parent}/run/backend-onnxruntime'", python)
    with tempfile.TemporaryDirectory(prefix="espalier-perf-") as scratch:
        folder = asked.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        rows = []
        for name in names:
            rows.append(measure_network(asked, backend, name, folder))
            print(f"{name}: {rows[-1]['ratio']:.3f}", file=sys.stderr, flush=True)
    write(rows, backend, asked.out)
    if asked.json:
        print(json.dumps({"load": os.getloadavg(), "backend": backend.name, "networks": rows, "bars": [bar.cells() for bar in bars(rows)]}))
        return
    print(f"{backend.name}, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    common.print_table(HEADER, [cells(row) for row in rows])
    print()
    common.print_table(["bar", "measured", "limit", ""], [bar.cells() for bar in bars(rows)])


if __name__ == "__main__":
    main()
