#!/usr/bin/python3
"""Found programs as ops of torch: right, packed once, refused with the reason. Skipped where there is no torch."""

import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import DONE, Case

try:
    import torch
except ImportError:
    torch = None

QUICK = {"CXXFLAGS": "-std=c++17 -O1 -fopenmp"}
SIZES = "tokens: 2, hidden: 32, out: 64"

RIGHT = """
import torch, gated_mlp_torch as code
torch.manual_seed(1)
x, a, b = torch.randn(2, 32).to({dtype}), (torch.randn(32, 64) / 6).to({dtype}), (torch.randn(32, 64) / 6).to({dtype})
wide = x.double(), a.double(), b.double()
gate = wide[0] @ wide[1]
wanted = gate * torch.sigmoid(gate) * (wide[0] @ wide[2])
op = torch.ops.espalier_gated_mlp
packed = [op.pack(a, 1), op.pack(b, 2)]
for found in (op.run(x, a, b), op.run(x, packed[0], b), code.run(x, *packed), torch.nn.Parameter(op.run(x, *packed), False)):
    assert found.dtype == {dtype} and found.shape == (2, 64)
    assert torch.allclose(found.double(), wanted, rtol={tolerance}, atol={tolerance}), (found, wanted)
assert op.run(torch.empty(2, 32, dtype={dtype}, device="meta"), torch.empty(32, 64, dtype={dtype}, device="meta"),
              torch.empty(32, 64, dtype={dtype}, device="meta")).shape == (2, 64)
"""

REFUSED = """
import torch, gated_mlp_torch
x, w = torch.ones(2, 32), torch.ones(32, 64)
op = torch.ops.espalier_gated_mlp
def refused(part, *inputs, call=op.run):
    try:
        call(*inputs)
    except (TypeError, ValueError, RuntimeError) as why:
        assert part in str(why), (part, str(why))
    else:
        raise SystemExit(f"not refused: {part}")
refused("shape (2, 31), not (2, 32)", torch.ones(2, 31), w, w)
refused("torch.float64, not torch.float32", x.double(), w, w)
refused("not contiguous", x, torch.ones(64, 32).t(), w)
refused("7 packed bytes", x, torch.ones(7, dtype=torch.uint8), w)
refused("requires a gradient", x, torch.nn.Parameter(w), w)
refused("there are 3", w, 3, call=op.pack)
with torch.no_grad():
    assert op.run(x, torch.nn.Parameter(w), w).shape == (2, 64)
"""


@unittest.skipIf(torch is None, "no torch for /usr/bin/python3 (Debian: python3-torch)")
class Torch(Case):
    def built(self, dtype: str) -> Path:
        yaml = self.superoptimization(f"builtin: gated_mlp, {SIZES}, dtype: {dtype}", "{from: full, blocks: {min: 1}}")
        self.finished(self.search(yaml, "--quiet", "--max-nodes", "60000", *harness.SMALL_BUDGET, "--force"))
        result = self.espalier("emit", "run", "--format", "torch", "-o", dtype)
        self.assertEqual((result.code, result.stderr), (DONE, ""), result.text)
        built = subprocess.run(["sh", "build"], cwd=self.folder / dtype, env={**harness.environment(), **QUICK}, capture_output=True, text=True)
        self.assertEqual((built.returncode, built.stderr), (0, ""), built.stdout)
        return self.folder / dtype

    def ran(self, folder: Path, script: str) -> None:
        done = subprocess.run(["/usr/bin/python3", "-B", "-c", script], cwd=folder, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)

    def test_the_op_computes_what_torch_computes_in_float64(self):
        for dtype, name, tolerance in (("f32", "float32", 1e-4), ("f16", "float16", 1e-2), ("bf16", "bfloat16", 5e-2)):
            with self.subTest(dtype):
                self.ran(self.built(dtype), RIGHT.format(dtype=f"torch.{name}", tolerance=tolerance))

    def test_inputs_that_the_op_cannot_take_are_refused_with_the_reason(self):
        self.ran(self.built("f32"), REFUSED)

    def test_other_targets_and_formats_are_refused(self):
        self.built("f32")
        self.expect_refused(self.espalier("emit", "run", "--format", "torch", "--target", "opencl", "-o", "other"), "--format torch", "--target cpu")
        self.expect_refused(self.espalier("emit", "run", "--format", "jax", "-o", "other"), "--format jax", "library", "torch")


if __name__ == "__main__":
    harness.main()
