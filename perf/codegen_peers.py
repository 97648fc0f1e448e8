#!/usr/bin/env python3
"""One block of a model by everything that computes it here: emitted code, torch and onnxruntime in all their layouts and calls.
codegen.py runs this in the venv that it makes.

    codegen_peers.py '{"block": {...}, "dtype": "f16", "peer_dtypes": ["f32", "f16"], "ours": "folder", "name": "lora", "limits": "limits.so", "seconds": 10}'

One process, one thread, everybody in turns and on as many copies of the weights as no cache holds, in huge pages
(GLIBC_TUNABLES=glibc.malloc.hugetlb=1); CPU milliseconds, medians. Every result is compared with float64 once. Prints JSON."""

import ctypes
import json
import math
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import numpy

from codegen_reference import Tensors

COLD_BYTES = 192 << 20      # of all copies of the inputs
SLOW = 3.0                  # contenders that take this many times the best of their dtype are left out after two calls
HOPELESS = 10.0             # ... after the first
LEAST_ROUNDS = 9


@dataclass
class Contender:
    """`calls`: one for each copy of the weights, in turn. `result` returns the values of the last call in float64."""
    who: str
    how: str
    dtype: str
    calls: list[Callable[[], object]]
    to_numpy: Callable[[object], numpy.ndarray]

    def __post_init__(self):
        self.ms: list[float] = []
        self.count = 0

    def run(self) -> object:
        call = self.calls[self.count % len(self.calls)]
        self.count += 1
        start = time.process_time_ns()
        result = call()
        self.ms.append((time.process_time_ns() - start) * 1e-6)
        return result


def copies_for(nbytes: int) -> int:
    return max(1, min(16, math.ceil(COLD_BYTES / nbytes)))


def aligned(values: numpy.ndarray) -> numpy.ndarray:
    """A copy that begins at a cache line."""
    raw = numpy.empty(values.nbytes + 64, numpy.uint8)
    start = -raw.ctypes.data % 64
    out = raw[start:start + values.nbytes].view(values.dtype).reshape(values.shape)
    out[...] = values
    return out


class Ours:
    """The library of a folder that `espalier emit` wrote."""

    def __init__(self, folder: Path, name: str):
        self.library, self.name = ctypes.CDLL(str(folder / f"lib{name}.so")), name
        for size in ("workspace_bytes", "packed_bytes"):
            getattr(self.library, f"{name}_{size}").restype = ctypes.c_ulong
        self.workspace = aligned(numpy.zeros(getattr(self.library, f"{name}_workspace_bytes")() + 64, numpy.uint8))

    def packed(self, index: int, values: numpy.ndarray) -> numpy.ndarray:
        size = getattr(self.library, f"{self.name}_packed_bytes")(index)
        if size == 0:
            return aligned(values)
        out = aligned(numpy.zeros(size, numpy.uint8))
        getattr(self.library, f"{self.name}_pack")(index, ctypes.c_void_p(values.ctypes.data), ctypes.c_void_p(out.ctypes.data))
        return out

    def call(self, inputs: list[numpy.ndarray], output: numpy.ndarray) -> Callable[[], numpy.ndarray]:
        def pointers(arrays):
            return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
        function, given, made = getattr(self.library, self.name), pointers(inputs), pointers([output])
        work = ctypes.c_void_p(self.workspace.ctypes.data)

        def run(output=output, _kept=(inputs, self.workspace)):
            if function(given, made, work) != 0:
                raise RuntimeError("it refused to run")
            return output
        return run


def ours(tensors: Tensors, folder: Path, name: str) -> Contender:
    library = Ours(folder, name)
    stored = tensors.stored()
    output = aligned(numpy.zeros(tensors.output_shape, stored[0].dtype))
    calls = []
    for _ in range(copies_for(tensors.weight_bytes())):
        inputs = [aligned(stored[0])] + [library.packed(i + 1, values) for i, values in enumerate(stored[1:])]
        calls.append(library.call(inputs, output))
    return Contender("espalier", "emitted", tensors.dtype, calls, tensors.widened)


def peers(tensors: Tensors) -> tuple[list[Contender], dict[str, str]]:
    """All peers that are installed, and their versions, or why not."""
    found, versions = [], {}
    for who, module in (("torch", "codegen_peers_torch"), ("onnxruntime", "codegen_peers_onnx")):
        try:
            made = __import__(module)
            versions[who] = made.version()
            for how, calls, to_numpy in made.calls(tensors, copies_for(tensors.weight_bytes())):
                found.append(Contender(who, how, tensors.dtype, calls, to_numpy))
        except ImportError as why:
            versions[who] = f"not there: {why}"
    return found, versions


def best_peer(contenders: list[Contender], dtype: str) -> float:
    """Its time in ms."""
    return min((one.ms[-1] for one in contenders if one.dtype == dtype and one.who != "espalier"), default=math.inf)


def tried(contenders: list[Contender], expected: numpy.ndarray) -> tuple[list[Contender], list[dict]]:
    """The contenders that compute the right thing and are not far behind, and what became of the others."""
    kept, left = [], []
    for one in contenders:
        try:
            one.run()
            if one.ms[-1] > HOPELESS * best_peer(kept, one.dtype):
                left.append({"who": one.who, "how": one.how, "dtype": one.dtype, "why": f"slow: {one.ms[-1]:.1f} ms"})
                continue
            result = one.to_numpy(one.run()).reshape(expected.shape)
        except Exception as why:     # a layout or dtype that it does not have
            left.append({"who": one.who, "how": one.how, "dtype": one.dtype, "why": str(why).splitlines()[0][:200]})
            continue
        one.error = float(numpy.max(numpy.abs(result - expected)) / math.sqrt(numpy.mean(expected ** 2)))
        kept.append(one)
    for one in list(kept):
        if not one.error < {"f32": 1e-4, "f16": 1e-2, "bf16": 0.15}[one.dtype]:
            left.append({"who": one.who, "how": one.how, "dtype": one.dtype, "why": f"wrong: error {one.error:.3g}"})
        elif one.ms[-1] > SLOW * best_peer(kept, one.dtype) and one.who != "espalier":
            left.append({"who": one.who, "how": one.how, "dtype": one.dtype, "why": f"slow: {one.ms[-1]:.1f} ms"})
        else:
            continue
        kept.remove(one)
    return kept, left


class Limits:
    """What one core can do, measured in the same rounds."""

    def __init__(self, library: str):
        self.library = ctypes.CDLL(library)
        for name in ("read_rate", "multiply_rate"):
            getattr(self.library, name).restype = ctypes.c_double
        self.read: list[float] = []
        self.flops: list[float] = []

    def run(self) -> None:
        self.read.append(self.library.read_rate())
        self.flops.append(self.library.multiply_rate())


def interval(ms: list[float]) -> dict:
    """The median, and its 95 % confidence interval."""
    values, half = sorted(ms), 0.98 * math.sqrt(len(ms))
    middle = len(values) / 2
    return {"ms": values[len(values) // 2], "ci_ms": [values[max(0, math.floor(middle - half))],
                                                      values[min(len(values) - 1, math.ceil(middle + half))]]}


def main() -> None:
    asked = json.loads(sys.argv[1])
    contenders, versions = [], {}
    rights = []
    for dtype in asked["peer_dtypes"]:
        tensors = Tensors(asked["block"], dtype)
        found, versions = peers(tensors)
        if dtype == asked["dtype"]:
            found.insert(0, ours(tensors, Path(asked["ours"]), asked["name"]))
        kept, left = tried(found, tensors.expected())
        contenders += kept
        rights += left
    limits = Limits(asked["limits"])
    for one in contenders:
        one.ms.clear()
    end = time.monotonic() + asked["seconds"]
    rounds = 0
    while rounds < LEAST_ROUNDS or time.monotonic() < end:
        limits.run()
        for one in contenders:
            one.run()
        rounds += 1
    rows = [{"who": one.who, "how": one.how, "dtype": one.dtype, "error": one.error, **interval(one.ms)} for one in contenders]
    print(json.dumps({"rows": rows, "left_out": rights, "versions": versions, "rounds": rounds,
                      "read": sorted(limits.read)[rounds // 2], "flops": sorted(limits.flops)[rounds // 2]}))


if __name__ == "__main__":
    main()
