#!/usr/bin/env python3
"""Several emitted programs that compute the same, in turns in one process: for the ranks of codegen.py.

    codegen_programs.py '[["folder", "name"], ..]' SECONDS

Prints the median CPU milliseconds of each. Inputs are cold, because every program has copies of its own."""

import ast
import json
import sys
import time
from pathlib import Path

import numpy

from codegen_peers import Ours, aligned

LEAST_ROUNDS = 7


def facts(folder: Path, name: str) -> dict:
    """What the Python wrapper knows about a program."""
    assigned = [node for node in ast.parse((folder / f"{name}.py").read_text()).body
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id.isupper()]
    return {node.targets[0].id: ast.literal_eval(node.value) for node in assigned}


def main() -> None:
    calls, results = [], []
    for folder, name in json.loads(sys.argv[1]):
        known, library = facts(Path(folder), name), Ours(Path(folder), name)
        random = numpy.random.default_rng(1)
        inputs = [aligned(random.standard_normal(shape, numpy.float32).astype(known["NUMPY_DTYPE"]) * 0.05) for _, shape in known["INPUTS"]]
        packed = [library.packed(i, values) for i, values in enumerate(inputs)]
        results.append(aligned(numpy.zeros(known["OUTPUTS"][0], known["NUMPY_DTYPE"])))
        calls.append(library.call(packed, results[-1]))
    times = [[] for _ in calls]
    end = time.monotonic() + float(sys.argv[2]) * len(calls)
    while len(times[0]) < LEAST_ROUNDS or time.monotonic() < end:
        for i, call in enumerate(calls):
            start = time.process_time_ns()
            call()
            times[i].append((time.process_time_ns() - start) * 1e-6)
    for i, result in enumerate(results):
        if not numpy.allclose(result, results[0], rtol=1e-3, atol=1e-3 * float(numpy.abs(results[0]).max())):
            sys.exit(f"program {i} computes something else")
    print(json.dumps([sorted(one)[len(one) // 2] for one in times]))


if __name__ == "__main__":
    main()
