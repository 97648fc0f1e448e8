#!/usr/bin/python3
"""Random programs of all ops that may be written: each is refused by `check` with a position, or searched; and what is found is what numpy
computes in float64, also when it is emitted as code. ESPALIER_TEST_PROGRAMS says how many, ESPALIER_TEST_SEED which."""

import collections
import importlib.util
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
import numpy_programs
from harness import DONE, INVALID_INPUT, NOTHING_FOUND, RESUMABLE, Case
from mugraph_code_test import QUICK
from mugraph_gpu_test import has_opencl

PROGRAMS = int(os.environ.get("ESPALIER_TEST_PROGRAMS", "10"))
SEED = int(os.environ.get("ESPALIER_TEST_SEED", "1"))
SEARCH_TIME = os.environ.get("ESPALIER_TEST_SEARCH_TIME", f"{harness.SLOWNESS:g}s")
OPENCL_EVERY = 1 if PROGRAMS > 10 else 5
COMPARED = 6        # programs of a run, one out of so many

UNARY = ["exp", "square", "sqrt", "silu", "gelu", "relu", "clamp", "tanh", "sigmoid", "log", "abs", "reciprocal", "neg", "rsqrt"]
BINARY = ["add", "sub", "mul", "div", "pow", "maximum", "minimum", "max", "min"]
ALONG = ["sum", "max", "min", "mean", "rms", "rms_norm", "layer_norm", "center", "softmax", "unsafe_softmax", "variance", "sum_to"]
PRODUCTS = ["matmul", "matmul", "matmul_nt", "concat_matmul"]
MOVES = ["reshape", "reshape", "slice", "slice", "concat", "concat", "transpose", "cast"]
CONSTANTS = ["add", "sub", "mul", "div", "scale", "shift"]


def text_of(attributes: dict) -> str:
    def value(one) -> str:
        return f"[{', '.join(str(v) for v in one)}]" if isinstance(one, list) else str(one)
    return "".join(f", {name}: {value(one)}" for name, one in attributes.items())


class Draw:
    """One program, in YAML and as values that numpy computes op by op."""

    def __init__(self, seed: int):
        self.seed = seed
        self.dtype = ["f64", "f32", "f16", "bf16"][seed % 4]
        self.random = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        pick = self.random.choice
        self.dims = {name: pick([1, 2, 3, 4, 6, 8, 12, 16, 24, 32]) for name in "BMKN"}
        self.inputs, self.values, self.ops, self.used = {}, {}, [], set()
        for name in "XWZ"[:pick([1, 2, 2, 3])]:
            self.inputs[name] = [pick("BMKN") for _ in range(pick([2, 2, 2, 3, 1]))]
        for name, dims in self.inputs.items():
            self.values[name] = self.rng.uniform(0.5, 1.5, [self.dims[d] for d in dims])
        for _ in range(pick([1, 2, 3, 4, 5, 6])):
            self.add()

    def add(self) -> None:
        kinds = [self.unary, self.binary, self.along, self.product, self.move, self.move, self.constant]
        op, names, written, attributes, constants = self.random.choice(kinds)()
        name = f"t{len(self.ops)}"
        operands = list(names)
        if constants:
            operands.insert(self.random.choice([0, 1]), str(constants[0]))
        self.ops.append(f"      - {{out: {name}, op: {op}, in: [{', '.join(operands)}]{text_of(written)}}}\n")
        self.used.update(names)
        tensors = [np.float64(o) if o not in names else self.values[o] for o in operands]
        with np.errstate(all="ignore"):
            try:
                made = np.asarray(numpy_programs.apply(op, tensors, attributes))
            except (ValueError, IndexError, KeyError, ZeroDivisionError, TypeError):
                made = np.ones([1, 1])      # check refuses it, as the test sees
        self.values[name] = made if made.size > 0 and made.ndim > 0 else np.ones([1, 1])

    def tensor(self) -> str:
        names = list(self.values)
        return self.random.choice(names[-3:] + names)

    def alike(self, fits) -> str:
        """Another tensor, preferably one that fits."""
        names = [name for name in self.values if fits(self.values[name])]
        return self.random.choice(names) if names and self.random.random() < 0.9 else self.tensor()

    def unary(self):
        op = self.random.choice(UNARY)
        attributes = {"low": 0.7, "high": 1.2} if op == "clamp" else {}
        return op, [self.tensor()], attributes, attributes, []

    def binary(self):
        x = self.tensor()
        shape = self.values[x].shape
        y = self.alike(lambda v: all(a == b or 1 in (a, b) for a, b in zip(v.shape[::-1], shape[::-1])))
        return self.random.choice(BINARY), [x, y], {}, {}, []

    def constant(self):
        op, number = self.random.choice(CONSTANTS), self.random.choice([0.5, 2, -1, 3])
        if op in ("scale", "shift"):
            return op, [self.tensor()], {"by": number}, {"by": number}, []
        return op, [self.tensor()], {}, {}, [number]

    def along(self):
        op, x = self.random.choice(ALONG), self.tensor()
        rank = self.values[x].ndim
        attributes = {} if self.random.random() < 0.4 else {"axis": self.random.randint(-rank, rank - 1)}
        if op == "sum_to":
            attributes["size"] = self.random.choice([1, 2, 3, 4])
        if op in ("rms", "rms_norm", "layer_norm") and self.random.random() < 0.5:
            attributes["eps"] = 0.001
        return op, [x], attributes, attributes, []

    def product(self):
        op, x = self.random.choice(PRODUCTS), self.tensor()
        inner = self.values[x].shape[-1]
        side = -1 if op == "matmul_nt" else -2
        y = self.alike(lambda v: v.ndim >= 2 and v.shape[side] == inner)
        return op, [x, y] if op != "concat_matmul" else [x, x, y, y], {}, {}, []

    def move(self):
        op, x = self.random.choice(MOVES), self.tensor()
        shape = self.values[x].shape
        axis = self.random.randint(-len(shape), len(shape) - 1)
        if op == "cast":
            return op, [x], {"dtype": self.random.choice(["f16", "bf16", "f32", "f64"])}, {}, []
        if op == "transpose":
            attributes = {"permutation": self.random.sample(range(len(shape)), len(shape))} if self.random.random() < 0.7 else {}
            return op, [x], attributes, attributes, []
        if op == "concat":
            rest = [list(shape)[:axis % len(shape)], list(shape)[axis % len(shape) + 1:]]
            count = self.random.choice([2, 2, 3, 4, 5])
            others = [self.alike(lambda v: v.ndim == len(shape) and [list(v.shape)[:axis % len(shape)], list(v.shape)[axis % len(shape) + 1:]] == rest)
                      for _ in range(count - 1)]
            return op, [x, *others], {"axis": axis}, {"axis": axis}, []
        if op == "slice":
            size = shape[axis]
            start = self.random.randint(0, size - 1)
            end = self.random.randint(start + 1, size) if self.random.random() < 0.95 else start
            attributes = {"axis": axis, "from": start if self.random.random() < 0.7 else start - size, "to": end}
            return op, [x], attributes, attributes, []
        sizes = self.factored(shape)
        return op, [x], {"shape": self.named(sizes)}, {"shape": sizes}, []

    def factored(self, shape) -> list:
        """Another shape with as many elements; now and then with one more."""
        count = int(np.prod(shape))
        sizes = []
        for _ in range(self.random.choice([0, 1, 2, 3])):
            sizes.append(self.random.choice([d for d in range(1, count + 1) if count % d == 0]))
            count //= sizes[-1]
        sizes.append(count if self.random.random() < 0.95 else count + 1)
        if self.random.random() < 0.3:
            self.random.shuffle(sizes)
        return sizes

    def named(self, sizes: list) -> list:
        out = []
        for size in sizes:
            names = [name for name, value in self.dims.items() if value == size]
            out.append(self.random.choice(names) if names and self.random.random() < 0.6 else size)
        if self.random.random() < 0.2:
            out[self.random.randrange(len(out))] = -1
        return out

    @property
    def outputs(self) -> list:
        unused = [name for name in self.values if name.startswith("t") and name not in self.used]
        return unused

    def yaml(self) -> str:
        inputs = {name: dims for name, dims in self.inputs.items() if name in self.used}
        return ("problem:\n  kind: mugraph\n  program:\n"
                f"    dims: {{{', '.join(f'{name}: {size}' for name, size in self.dims.items())}}}\n"
                f"    inputs: {{{', '.join(name + ': [' + ', '.join(dims) + ']' for name, dims in inputs.items())}}}\n"
                f"    ops:\n{''.join(self.ops)}    outputs: [{', '.join(self.outputs)}]\n"
                f"    dtype: {self.dtype}\n")

    def wanted(self) -> list:
        return [self.values[name] for name in self.outputs]

    def operands(self) -> list:
        return [self.values[name] for name in self.inputs if name in self.used]


def differs(found, wanted) -> bool:
    """Where numpy has a number; elsewhere there is nothing to compare with."""
    if found.shape != wanted.shape:
        return True
    usable = np.isfinite(wanted) & (np.abs(wanted) < 1e100)
    if not usable.any():
        return False
    scale = np.sqrt(np.mean(wanted[usable] ** 2)) + np.abs(wanted)
    with np.errstate(all="ignore"):
        return not bool(np.all(np.abs(found - wanted)[usable] <= 1e-7 * scale[usable]))


class RandomPrograms(Case):
    def test_are_refused_with_a_position_or_found_to_be_what_numpy_computes(self):
        counts = collections.Counter()
        for seed in range(SEED, SEED + PROGRAMS):
            self.one(seed, counts)
        print(f"{PROGRAMS} programs:", ", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
        self.assertGreater(counts["searched"], 0)
        self.assertGreater(counts["compared"], 0)

    def one(self, seed: int, counts: collections.Counter) -> None:
        draw = Draw(seed)
        run = f"run-{seed}"
        self.file("random.yaml", draw.yaml() + f"results: {{path: {run}}}\n")
        check = self.espalier("check", "random.yaml")
        told = f"program {seed}:\n{draw.yaml()}\n{check.text}"
        self.assertIn(check.code, (DONE, INVALID_INPUT), told)
        search = self.espalier("search", "random.yaml", "--quiet", "--max-time", SEARCH_TIME, "--threads", "1")
        told += search.text
        if check.code == INVALID_INPUT:
            counts["refused"] += 1
            self.assertRegex(check.stderr, r"^random\.yaml:\d+:\d+: error: ", told)
            self.assertEqual((search.code, search.stderr), (check.code, check.stderr), told)
            return
        counts["searched"] += 1
        counts[f"ended with {search.code}"] += 1
        self.assertIn(search.code, (DONE, NOTHING_FOUND, RESUMABLE), told)
        results = json.loads(self.espalier("show", run, "--json").stdout)["results"]
        counts["found"] += len(results)
        if results:
            counts[self.run_code(run, results[0]["key"], draw, told)] += 1
        for result in results[::max(1, len(results) // COMPARED)]:
            shown = self.espalier("show", run, "--program", result["key"], "--format", "json")
            self.assertEqual(shown.code, DONE, told + shown.text)
            self.compare(json.loads(shown.stdout), draw, f"{told}\n{result['text']}")
            counts["compared"] += 1

    def run_code(self, run: str, key: str, draw: Draw, told: str) -> str:
        """The program as code: checked by its own bench, for CPUs and now and then as OpenCL; in f64 also by numpy, which knows nothing of
        it, through the wrapper. Says what came of it."""
        targets = ["cpu"] + (["opencl"] if draw.seed % OPENCL_EVERY == 0 and has_opencl() else [])
        for target in targets:
            folder = self.folder / f"{run}-{target}"
            emitted = self.espalier("emit", run, "--program", key, "--target", target, "-o", folder.name)
            self.assertEqual(emitted.code, DONE, told + emitted.text)
            environment = {**harness.environment(), **QUICK, "POCL_CACHE_DIR": str(folder / "pocl")}
            built = subprocess.run(["sh", "build"], cwd=folder, env=environment, capture_output=True, text=True)
            self.assertEqual((built.returncode, built.stderr), (0, ""), told)
            (folder / "pocl").mkdir()
            done = subprocess.run(["./bench", "--check", "--json"], cwd=folder, env=environment, capture_output=True, text=True)
            if "no element could be compared" in done.stderr:
                return "with code that could not be compared"
            self.assertEqual((done.returncode, done.stderr), (0, ""), told + done.stdout)
            if draw.dtype == "f64" and target == "cpu":
                self.compare_code(folder, draw, told)
        return "with code that is right"

    def compare_code(self, folder: Path, draw: Draw, told: str) -> None:
        spec = importlib.util.spec_from_file_location(folder.name.replace("-", "_"), folder / "program.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found = module.run(*draw.operands())
        for one, wanted in zip(found if isinstance(found, tuple) else (found,), draw.wanted(), strict=True):
            self.assertFalse(differs(one, wanted), f"{told}\n{one}\n{wanted}")

    def compare(self, graph: dict, draw: Draw, told: str) -> None:
        with np.errstate(all="ignore"):
            found = numpy_programs.evaluate(graph, draw.operands())
        self.assertEqual(len(found), len(draw.wanted()), told)
        for one, wanted in zip(found, draw.wanted()):
            self.assertFalse(differs(one, wanted), f"{told}\n{one}\n{wanted}")


if __name__ == "__main__":
    harness.main()
