#!/usr/bin/python3
"""`program: {onnx: FILE}`: a block of a network as a program of the superoptimizer. What is found is emitted, run, and compared with what the
file computes, by an evaluator in numpy."""

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import numpy as np

import harness
from harness import DONE, INVALID_INPUT, Case
from onnx_builder import Graph


def norm_linear(g: Graph):
    """RMSNorm in the ops that exporters write, then a linear layer."""
    x = g.input("x.1", 4, 64)
    mean = g.op("ReduceMean", g.op("Mul", x, x), axes=[-1])
    normed = g.op("Div", x, g.op("Sqrt", g.op("Add", mean, g.constant(1e-5))))
    g.output(g.op("MatMul", g.op("Mul", normed, g.constant(np.linspace(0.5, 1.5, 64))), g.weight(64, 32, fan_in=64)), 4, 32)


def gated(g: Graph):
    x = g.input("x", 4, 64)
    gate, up = (g.op("MatMul", x, g.weight(64, 32, fan_in=64)) for _ in range(2))
    g.output(g.op("Mul", g.op("Mul", gate, g.op("Sigmoid", gate)), up), 4, 32)


def layer_norm_gemm(g: Graph):
    x = g.input("x", 4, 64)
    normed = g.op("LayerNormalization", x, g.constant(np.linspace(0.5, 1.5, 64)), g.constant(np.linspace(-1, 1, 64)), epsilon=1e-5)
    g.output(g.op("Gemm", normed, g.weight(32, 64, fan_in=64), g.constant(np.linspace(-1, 1, 32)), transB=1), 4, 32)


def attention(g: Graph):
    q, k, v = (g.input(name, 2, 16, 8) for name in ("q", "k", "v"))
    scores = g.op("Mul", g.op("MatMul", q, g.op("Transpose", k, perm=[0, 2, 1])), g.constant(0.125))
    g.output(g.op("MatMul", g.op("Softmax", scores, axis=-1), v), 2, 16, 8)


def lstm(g: Graph):
    x = g.input("x", 3, 1, 4)
    g.output(g.op("LSTM", x, g.weight(1, 16, 4, fan_in=4), g.weight(1, 16, 4, fan_in=4), hidden_size=4), 3, 1, 1, 4)


# What each computes, by the names of its inputs.
def silu(x):
    return x / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def centred(x):
    return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)


# And their sizes: vectors beside matrices become matrices of one row.
EXPECTED = {
    norm_linear: (((4, 64), (1, 64), (64, 32)),
                  lambda x, g, w: x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5) * g @ w),
    gated: (((4, 64), (64, 32), (64, 32)), lambda x, a, b: silu(x @ a) * (x @ b)),
    layer_norm_gemm: (((4, 64), (1, 64), (1, 64), (32, 64), (1, 32)), lambda x, g, b, w, c: (centred(x) * g + b) @ w.T + c),
    attention: (((2, 16, 8),) * 3, lambda q, k, v: softmax(q @ k.transpose(0, 2, 1) * 0.125) @ v),
}


class Blocks(Case):
    def block(self, make, opset: int = 17) -> Path:
        graph = Graph(make.__name__, 1)
        make(graph)
        path = self.folder / f"{make.__name__}.onnx"
        path.write_bytes(graph.model(opset=opset).SerializeToString())
        return path

    def yaml(self, path: Path) -> Path:
        return self.file("experiment.yaml", f"problem: {{kind: mugraph, program: {{onnx: {path}}}}}\nresults: {{path: run}}\n")

    def test_what_is_found_computes_what_the_file_does(self):
        for make, (sizes, expected) in EXPECTED.items():
            with self.subTest(make.__name__):
                yaml = self.yaml(self.block(make))
                result = self.finished(self.search(yaml, "--max-nodes", "60000", "--force", *harness.SMALL_BUDGET))
                self.assertIn(result.code, (DONE, 85), result.text)
                folder = f"out-{make.__name__}"
                self.assertEqual(self.espalier("emit", "run", "--program", "1", "-o", folder).code, DONE)
                self.expect_numbers(folder, sizes, expected)

    def expect_numbers(self, name: str, sizes, expected) -> None:
        """By the program's module, in a process of its own: all of them have one name."""
        folder = self.folder / name
        random = np.random.default_rng(3)
        inputs = [random.normal(size=shape).astype(np.float32) for shape in sizes]
        np.savez(folder / "inputs.npz", *inputs)
        subprocess.run(["sh", "build"], cwd=folder, check=True, capture_output=True)
        [module] = folder.glob("*.py")
        script = (f"import numpy, {module.stem} as code; z = numpy.load('inputs.npz'); "
                  f"numpy.save('output.npy', code.run(*(z[f'arr_{{i}}'] for i in range({len(inputs)}))))")
        subprocess.run(["/usr/bin/python3", "-B", "-c", script], cwd=folder, check=True)
        wanted = expected(*(one.astype(np.float64) for one in inputs))
        np.testing.assert_allclose(np.load(folder / "output.npy"), wanted, rtol=0, atol=1e-4)

    def test_the_merged_experiment_has_the_program_itself(self):
        yaml = self.yaml(self.block(gated))
        merged = self.espalier("search", yaml, "--print-config").stdout

        self.assertNotIn("onnx", merged)
        self.assertIn("op: matmul", merged)
        self.assertIn("weights:", merged)

    def test_what_is_no_block_is_refused_at_its_place(self):
        for path, text in ((self.block(lstm), "LSTM"), (self.folder / "nowhere.onnx", "nowhere.onnx")):
            result = self.espalier("check", self.yaml(path))
            self.assertEqual(result.code, INVALID_INPUT, result.text)
            self.assertIn("experiment.yaml:1:", result.stderr)
            self.assertIn(text, result.stderr)


if __name__ == "__main__":
    harness.main()
