#!/usr/bin/python3
"""Found programs as code: it compiles, is checked against float64 and numpy and measured, and the run keeps the times."""

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import DONE, VERIFICATION_FAILED, Case

QUICK = {"CXXFLAGS": "-std=c++17 -O1 -fopenmp"}
SMALL = "tokens: 2, hidden: 32, out: 64"
HEADS = "batch: 1, heads: 4, kv_heads: {}, queries: 4, keys: 64, head_dim: 16"
BUILTINS = {"rmsnorm_linear": SMALL, "layernorm_linear": SMALL, "softmax_linear": SMALL, "gated_mlp": SMALL,
            "lora": "tokens: 4, hidden: 32, out: 64, rank: 4", "mha": HEADS.format(4), "mqa": HEADS.format(1), "gqa": HEADS.format(2),
            "rmsnorm_linear_primitive": SMALL, "qknorm_gqa": HEADS.format(2), "ntrans": "tokens: 4, hidden: 64"}
UNEVEN = "tokens: 2, hidden: 1021, out: 509"    # primes: loops and grids have smaller last tiles


class Code(Case):
    def found(self, builtin: str, sizes: str, dtype: str = "f32") -> None:
        """The folder `run`, with programs of the full space: the same ones on every machine."""
        yaml = self.superoptimization(f"builtin: {builtin}, {sizes}, dtype: {dtype}", "{from: full, blocks: {min: 1}}")
        result = self.finished(self.search(yaml, "--quiet", "--max-nodes", "60000", *harness.SMALL_BUDGET, "--force"))
        self.assertIn(result.code, (DONE, 85), result.text)

    def uneven(self) -> list[str]:
        """Two programs with smaller last tiles, of the folder `run`."""
        self.found("gated_mlp", UNEVEN)
        keys = [one["key"] for one in json.loads(self.espalier("show", "run", "--json").stdout)["results"]]
        found = [key for key in keys if "last:" in self.espalier("show", "run", "--program", key).stdout][:2]
        self.assertEqual(len(found), 2)
        return found

    def emitted(self, folder: str, *arguments) -> Path:
        result = self.espalier("emit", "run", "-o", folder, *arguments)
        self.assertEqual((result.code, result.stderr), (DONE, ""), result.text)
        built = subprocess.run(["sh", "build"], cwd=self.folder / folder, env={**harness.environment(), **QUICK}, capture_output=True, text=True)
        self.assertEqual((built.returncode, built.stderr), (0, ""), built.stdout)
        return self.folder / folder

    def bench(self, folder: Path, *arguments) -> tuple[int, dict, str]:
        done = subprocess.run(["./bench", "--json", *arguments], cwd=folder, capture_output=True, text=True)
        return done.returncode, json.loads(done.stdout), done.stderr

    def measured(self, *arguments) -> dict:
        result = self.espalier("measure", "run", "--json", *arguments, env={"XDG_CACHE_HOME": str(self.folder / "cache")})
        self.assertEqual(result.code, DONE, result.text)
        return json.loads(result.stdout)


class Emitted(Code):
    def test_the_best_programs_of_every_builtin_are_right(self):
        for builtin, sizes in BUILTINS.items():
            with self.subTest(builtin):
                self.found(builtin, sizes)
                folder = self.emitted(builtin)

                code, told, errors = self.bench(folder, "--check")

                self.assertEqual((code, told["checked"], errors), (0, True, ""), told)
                self.assertGreater(told["compared"], 0)
                self.assertLessEqual(told["max_error"], told["tolerance"])

    def test_sizes_that_nothing_divides_are_right(self):
        for key in self.uneven():
            code, told, errors = self.bench(self.emitted(key, "--program", key), "--check")

            self.assertEqual((code, told["checked"], errors), (0, True, ""), told)

    def test_the_wrapper_gives_numpy_what_numpy_computes(self):
        self.found("rmsnorm_linear", SMALL)
        folder = self.emitted("code")
        rng = numpy.random.default_rng(1)
        x, w = rng.standard_normal((2, 32), numpy.float32), rng.standard_normal((32, 64), numpy.float32)
        numpy.save(folder / "x.npy", x)
        numpy.save(folder / "w.npy", w)
        script = ("import numpy, rmsnorm_linear as code; x, w = numpy.load('x.npy'), numpy.load('w.npy'); "
                  "numpy.save('z.npy', code.run(x, w)); numpy.save('packed.npy', code.run(x, code.pack(1, w)))")

        subprocess.run(["/usr/bin/python3", "-B", "-c", script], cwd=folder, check=True)

        wide = x.astype(numpy.float64)
        wanted = wide / numpy.sqrt((wide * wide).mean(-1, keepdims=True)) @ w
        for name in ("z.npy", "packed.npy"):
            numpy.testing.assert_allclose(numpy.load(folder / name), wanted, rtol=1e-4, atol=1e-4)

    def test_half_precision_is_right_too(self):
        for dtype in ("f16", "bf16"):
            with self.subTest(dtype):
                self.found("gated_mlp", SMALL, dtype)

                code, told, errors = self.bench(self.emitted(dtype), "--check")

                self.assertEqual((code, told["checked"]), (0, True), errors)

    def test_half_precision_rounds_as_numpy_does(self):
        """Every f16 number times another: subnormal numbers, ties, numbers that are too large, infinity and NaN."""
        yaml = self.file("half.yaml", "problem:\n  kind: mugraph\n  program: {dims: {M: 256, N: 256}, inputs: {X: [M, N], Y: [M, N]}, dtype: f16,\n"
                         "            ops: [{out: Z, op: mul, in: [X, Y]}], outputs: [Z]}\nresults: {path: run}\n")
        self.assertEqual(self.finished(self.search(yaml, "--quiet")).code, DONE)
        folder = self.emitted("half")
        x = numpy.arange(65536, dtype=numpy.uint16).view(numpy.float16).reshape(256, 256)
        y = numpy.random.default_rng(1).permutation(x.ravel()).reshape(256, 256)
        numpy.save(folder / "x.npy", x)
        numpy.save(folder / "y.npy", y)
        script = "import numpy, program; numpy.save('z.npy', program.run(numpy.load('x.npy'), numpy.load('y.npy')))"

        subprocess.run(["/usr/bin/python3", "-B", "-c", script], cwd=folder, check=True)

        with numpy.errstate(all="ignore"):
            wanted = (x.astype(numpy.float64) * y.astype(numpy.float64)).astype(numpy.float16)
        numpy.testing.assert_array_equal(numpy.load(folder / "z.npy"), wanted)

    def test_refusals_are_clear(self):
        self.found("rmsnorm_linear", SMALL)
        self.expect_refused(self.espalier("emit", "run", "--target", "fpga", "-o", "code"), "--target fpga", "cpu")
        self.emitted("code")
        self.expect_refused(self.espalier("emit", "run", "-o", "code"), "code", "not an empty folder")


class Measured(Code):
    def setUp(self):
        super().setUp()
        self.found("rmsnorm_linear", SMALL)

    def test_a_program_is_measured_beside_the_input_and_the_run_keeps_it(self):
        told = self.measured("--top", "2", "--threads", "1")

        self.assertEqual(len(told["measured"]), 2)
        self.assertTrue(told["machine"]["compiler"])
        for one in told["measured"]:
            self.assertTrue(one["checked"])
            self.assertIn(one["verdict"], ("faster", "within the noise", "slower"))
            low, high = one["ci_ms"]
            self.assertTrue(low <= one["ms"] <= high)
            self.assertTrue(math.isclose(one["speedup"], one["input_ms"] / one["ms"], rel_tol=1e-9))
        shown = json.loads(self.espalier("show", "run", "--json").stdout)["results"]
        self.assertEqual([one["cost_source"] for one in shown[:3]], ["measured", "measured", "estimated"])
        self.assertEqual([one["executed"] for one in shown[:3]], ["within tolerance", "within tolerance", "no"])
        self.assertGreaterEqual(shown[0]["measured"]["speedup"], shown[1]["measured"]["speedup"])
        self.assertIn("measured ms", self.espalier("show", "run").stdout)

    def test_the_run_is_still_what_was_verified(self):
        self.measured("--top", "1", "--threads", "1")

        self.assertEqual(self.espalier("verify", "run").code, DONE)

    def verdict_if_bench_is(self, script: str) -> tuple[int, dict]:
        """The verdict on a program whose `bench` does this instead: the compiler makes such files."""
        compiler = self.file("compiler", '#!/bin/sh\n[ "$1" = --version ] && exec echo a compiler\nwhile [ "$1" != -o ]; do shift; done\n'
                                         f"printf '#!/bin/sh\\n{script}\\n' >$2\nchmod +x $2\n")
        compiler.chmod(0o755)
        result = self.espalier("measure", "run", "--json", "--top", "1",
                               env={"CXX": str(compiler), "XDG_CACHE_HOME": str(self.folder / script.replace(" ", "_"))})
        return result.code, json.loads(result.stdout)["measured"][0]

    def test_a_crash_is_a_verdict_and_not_the_end(self):
        code, told = self.verdict_if_bench_is("kill -9 $$")

        self.assertEqual((code, told["verdict"], told["checked"], told["executed"]), (DONE, "crashed", False, "no"))
        self.assertIn("signal 9", told["reason"])

    def test_wrong_programs_come_last(self):
        key = json.loads(self.espalier("show", "run", "--json").stdout)["results"][0]["key"]

        code, told = self.verdict_if_bench_is("exit 4")

        self.assertEqual((code, told["key"], told["verdict"], told["executed"]), (VERIFICATION_FAILED, key, "wrong", "wrong"))
        shown = json.loads(self.espalier("show", "run", "--json").stdout)["results"]
        self.assertEqual((shown[-1]["key"], shown[-1]["executed"]), (key, "wrong"))

    def test_without_a_compiler_the_message_names_the_remedy(self):
        self.expect_refused(self.espalier("measure", "run", env={"CXX": "/no/such/compiler"}), "/no/such/compiler", "install g++")


if __name__ == "__main__":
    harness.main()
