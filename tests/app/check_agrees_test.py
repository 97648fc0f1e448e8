#!/usr/bin/python3
"""What `check` accepts `search` does not refuse, and what `check` refuses leaves no run: random experiments of all kinds."""

import os
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import DONE, INVALID_INPUT, NOTHING_FOUND, RESUMABLE, Case

EXPERIMENTS = int(os.environ.get("ESPALIER_TEST_EXPERIMENTS", "36"))     # a third of each kind; a soak takes hundreds
SEED = int(os.environ.get("ESPALIER_TEST_SEED", "1"))
UNARY = ["exp", "square", "sqrt", "silu", "gelu", "relu", "softmax", "rmsnorm", "layernorm", "rms", "sum", "clamp", "sum_to"]
BINARY = ["matmul", "add", "sub", "mul", "div", "pow"]
BLOCK_OPS = ["matmul", "concat_matmul", "exp", "square", "sqrt", "silu", "relu", "add", "sub", "mul", "div", "sum", "sum_to", "rms", "rms_norm",
             "layer_norm", "accumulate", "accumulate_sum", "accumulate_sum_to", "accumulate_rms", "clamp", "pow"]
BUILTINS = ["rmsnorm_linear", "rmsnorm_linear_primitive", "layernorm_linear", "softmax_linear", "gated_mlp", "lora", "mha", "mqa", "gqa", "qknorm_gqa", "ntrans"]


def program(draw: random.Random) -> str:
    """Ops on a few matrices; shapes are followed, so that most of them fit."""
    if draw.random() < 0.2:
        return f"{{builtin: {draw.choice(BUILTINS)}}}"
    dims = {name: draw.choice([1, 2, 3, 4, 7, 12, 16, 24, 31, 64]) for name in "BKN"[:draw.choice([2, 3, 3])]}
    rank = draw.choice([2, 2, 2, 3])
    tensors, ops = {}, []
    for name in "XWZ"[:draw.choice([1, 2, 3])]:
        tensors[name] = [draw.choice(list(dims)) if draw.random() < 0.9 else str(draw.choice([1, 2, 4])) for _ in range(rank)]
    inputs = dict(tensors)

    def size(dim: str) -> int:
        return dims.get(dim) or int(dim)

    def add(op: str, operands: list, shape: list, extra: str = "") -> None:
        name = f"T{len(ops)}"
        tensors[name] = shape
        ops.append(f"      - {{out: {name}, op: {op}, in: [{', '.join(operands)}]{extra}}}\n")

    for _ in range(draw.randint(1, 6)):
        x, y = draw.choice(list(tensors)), draw.choice(list(tensors))
        a, b = tensors[x], tensors[y]
        if draw.random() < 0.5:
            op, axis = draw.choice(UNARY), draw.randint(-rank, rank - 1)
            shape, extra = list(a), ""
            if op in ("softmax", "rmsnorm", "layernorm", "rms", "sum", "sum_to") and draw.random() < 0.7:
                extra = f", axis: {axis}"
            else:
                axis = rank - 1
            if op in ("sum", "rms"):
                shape[axis] = "1"
            if op == "sum_to":
                divisors = [d for d in range(1, size(a[axis]) + 1) if size(a[axis]) % d == 0]
                shape[axis] = str(draw.choice(divisors))
                extra += f", size: {shape[axis]}"
            if op == "clamp":
                extra += ", low: 0, high: 1"
            add(op, [x], shape, extra)
        elif a[-1] == b[-2] and a[:-2] == b[:-2] and draw.random() < 0.7:
            add("matmul", [x, y], a[:-1] + b[-1:])
        else:
            shape = [p if q == "1" else q for p, q in zip(a, b)]
            add(draw.choice(BINARY[1:]), [x, y], shape)
    read = "".join(ops)
    used = {name for name in tensors if f"[{name}," in read or f"[{name}]" in read or f", {name}]" in read}
    outputs = [name for name in tensors if name not in used and name not in inputs]
    inputs = {name: shape for name, shape in inputs.items() if name in used}
    return ("\n    dims: {" + ", ".join(f"{k}: {v}" for k, v in dims.items()) + "}\n    inputs: {"
            + ", ".join(f"{k}: [{', '.join(v)}]" for k, v in inputs.items()) + f"}}\n    ops:\n{read}    outputs: [{', '.join(outputs)}]")


def space(draw: random.Random) -> str:
    if draw.random() < 0.3:
        return draw.choice(["full", "mirage"])
    keys = [f"from: {draw.choice(['full', 'mirage'])}"]

    def maybe(text: str, share: float = 0.3) -> None:
        if draw.random() < share:
            keys.append(text)

    maybe(f"max_graph_kernels: {draw.choice([1, 2, 2, 4])}")
    maybe(f"max_kernel_ops: {draw.choice([1, 2, 3, 5, 20, 64])}")
    maybe(f"max_block_ops: {draw.choice([1, 2, 5, 9, 17, 40])}")
    maybe(f"max_outputs: {draw.choice([1, 2, 4])}")
    maybe(f"count_inputs: {draw.choice(['true', 'false'])}")
    maybe(f"loops: {draw.sample([1, 2, 3, 4, 16], 2)}")
    maybe(f"tiles: {draw.sample([1, 2, 8, 16], 2)}")
    maybe(f"grid_dims: {draw.randint(1, 3)}")
    maybe(f"liveness: {draw.choice(['true', 'false'])}")
    maybe(f"shared_memory: {draw.choice([1, 2, 96])}KiB")
    maybe(f"schedules: {draw.choice(['all', 'best'])}")
    maybe(f"block_ops: [{', '.join(draw.sample(BLOCK_OPS, 6))}]")
    maybe(f"kernel_ops: [{', '.join(draw.sample(['matmul', 'exp', 'sum', 'sum_to', 'rms', 'rms_norm', 'layer_norm', 'concat_matmul', 'div'], 3))}]")
    return "{" + ", ".join(keys) + "}"


def mugraph(draw: random.Random) -> str:
    return (f"problem:\n  kind: mugraph\n  program: {program(draw)}\n  space: {space(draw)}\n  prune: {draw.choice(['native', 'native', 'both', 'none'])}\n"
            f"search: {{best_only: {draw.choice(['true', 'false'])}}}\nverify: {{tests: {draw.randint(1, 5)}, elements: {draw.choice([1, 16, 400])}}}\n")


def placement(draw: random.Random) -> str:
    sizes = [draw.choice([1, 2, 2, 3, 4, 6]) for _ in range(draw.randint(1, 4))]
    levels = ", ".join(f"{{name: l{i}, size: {n}, bandwidth: {draw.choice([1, 8, 200])}GB/s, latency: {draw.choice([0, 1, 10])}us, links: {draw.choice([1, 1, 2])}}}"
                       for i, n in enumerate(sizes))
    devices = 1
    for n in sizes:
        devices *= n
    first = draw.choice([d for d in range(1, devices + 1) if devices % d == 0])
    axes = f"{{data: {first}, shards: {devices // first}}}" if draw.random() < 0.8 else f"{{all: {devices + draw.choice([0, 1])}}}"
    reductions = draw.choice(["", f"  reductions: [{{axes: [data], payload: {draw.choice([1, 64, 1048576])}KiB, request: {draw.choice(['all_reduce', 'reduce_scatter', 'all_gather'])}}}]\n"])
    return (f"problem:\n  kind: placement\n  hierarchy: [{levels}]\n  axes: {axes}\n{reductions}  max_steps: {draw.randint(1, 5)}\n"
            f"  broadcast: {draw.choice(['contained', 'strict', 'empty'])}\n  segments: {draw.choice(['[1]', '[1, 4]', '[1, 2, 1024]'])}\n"
            f"search: {{best_only: {draw.choice(['true', 'false'])}}}\n")


def uts(draw: random.Random) -> str:
    kind = draw.choice(["geometric", "binomial", "hybrid", "balanced"])
    keys = [f"type: {kind}", f"b: {draw.choice([0.5, 1, 2.5, 4, 2000])}"]
    if kind != "binomial":
        keys.append(f"depth: {draw.choice([1, 6, 10])}")
    if kind in ("geometric", "hybrid"):
        keys.append(f"shape: {draw.choice(['linear', 'exponential', 'cyclic', 'fixed'])}")
    if kind in ("binomial", "hybrid"):
        keys += [f"q: {draw.choice([0, 0.1, 0.234375, 0.6, 1])}", f"m: {draw.choice([0, 1, 4])}"]
    if kind not in ("binomial", "hybrid") and draw.random() < 0.4:
        keys.append("m: 3")     # which means nothing there
    return f"problem: {{kind: uts, tree: {{{', '.join(keys)}}}, granularity: {draw.choice([1, 50])}}}\n"


class Agrees(Case):
    def agree(self, make) -> None:
        accepted = refused = 0
        for i in range(SEED, SEED + EXPERIMENTS // 3):
            content = make(random.Random(i))
            self.file("random.yaml", content + f"results: {{path: run-{i}}}\n")
            check = self.espalier("check", "random.yaml")
            search = self.espalier("search", "random.yaml", "--quiet", "--max-time", "150ms", "--threads", "1")
            told = f"case {i}:\n{content}\n{check.text}\n{search.text}"
            self.assertIn(check.code, (DONE, INVALID_INPUT), told)
            if check.code == DONE:
                accepted += 1
                self.assertIn(search.code, (DONE, NOTHING_FOUND, RESUMABLE), told)
            else:
                refused += 1
                self.assertEqual(search.code, INVALID_INPUT, told)
                self.assertEqual(check.stderr, search.stderr, told)
                self.assertRegex(check.stderr, r"^random\.yaml:\d+:\d+: error: ", told)
                self.assertFalse((self.folder / f"run-{i}").exists(), told)
        self.assertGreater(min(accepted, refused), 0)

    def test_on_programs_and_spaces(self):
        self.agree(mugraph)

    def test_on_placements(self):
        self.agree(placement)

    def test_on_trees(self):
        self.agree(uts)


if __name__ == "__main__":
    harness.main()
