#!/usr/bin/python3
"""Found programs as code for GPUs: OpenCL runs here and is compared element by element with float64; CUDA is compiled."""

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import harness
from harness import DONE, INVALID_INPUT, Case
from mugraph_code_test import BUILTINS, SMALL, Code

PROBE = """
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
int main(void) {
    cl_platform_id p[16];
    cl_device_id d;
    cl_uint n = 0;
    if (clGetPlatformIDs(16, p, &n) != CL_SUCCESS) return 1;
    for (cl_uint i = 0; i < n; ++i)
        if (clGetDeviceIDs(p[i], CL_DEVICE_TYPE_ALL, 1, &d, 0) == CL_SUCCESS) return 0;
    return 1;
}
"""


def has_opencl() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "probe.c").write_text(PROBE)
        return subprocess.run("cc -o probe probe.c -lOpenCL && ./probe", shell=True, cwd=folder, capture_output=True).returncode == 0


class Gpu(Code):
    TARGET = "opencl"

    def built(self, folder: str, *arguments, **flags) -> Path:
        result = self.espalier("emit", "run", "--target", self.TARGET, "-o", folder, *arguments)
        self.assertEqual(result.code, DONE, result.text)
        done = subprocess.run(["sh", "build"], cwd=self.folder / folder, env={**harness.environment(), **flags}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.said = result.stderr, done.stdout + done.stderr
        return self.folder / folder


class OpenCl(Gpu):
    def setUp(self):
        if not has_opencl():
            self.skipTest("no OpenCL device: install pocl-opencl-icd, ocl-icd-opencl-dev, opencl-headers")
        super().setUp()
        os.environ["POCL_CACHE_DIR"] = str(self.folder / "pocl")

    def expect_right(self, folder: str, *arguments):
        code, told, errors = self.bench(self.built(folder, *arguments, CXXFLAGS="-std=c++17 -O1 -fopenmp"), "--check")
        self.assertEqual((code, told["target"], told["checked"], errors), (0, "opencl", True, ""), told)
        self.assertGreater(told["compared"], 0)
        self.assertLessEqual(told["max_error"], told["tolerance"])

    RANKS, DTYPES = (1, 5), ("f32",)

    def test_the_best_programs_are_right(self):
        for builtin, dtype in itertools.product(BUILTINS, self.DTYPES):
            self.found(builtin, BUILTINS[builtin], dtype)
            count = len(json.loads(self.espalier("show", "run", "--json").stdout)["results"])
            for rank in sorted({min(rank, count) for rank in self.RANKS}):
                with self.subTest(builtin, dtype=dtype, rank=rank):
                    self.expect_right(f"{builtin}-{dtype}-{rank}", "--program", str(rank))

    def test_half_precision_is_right_too(self):
        self.found("rmsnorm_linear", SMALL, "f16")

        self.expect_right("half")

    def test_sizes_that_nothing_divides_are_right(self):
        for key in self.uneven():
            self.expect_right(key, "--program", key)

    def test_they_are_measured(self):
        self.found("rmsnorm_linear", SMALL)

        told = self.measured("--top", "1", "--target", "opencl")

        self.assertTrue(told["measured"][0]["checked"])
        self.assertGreater(told["measured"][0]["ms"], 0)
        self.assertEqual(told["measured"][0]["target"], "opencl")
        shown = json.loads(self.espalier("show", "run", "--json").stdout)["results"]
        self.assertEqual(shown[0]["cost_source"], "estimated")  # the run ranks times of one kind

    def test_build_names_what_is_missing(self):
        self.found("rmsnorm_linear", SMALL)
        folder = self.built("code")

        for variable, value, words in (("CFLAGS", "-nostdinc", "opencl-headers"), ("LIBS", "-lNoSuchLibrary", "ocl-icd-opencl-dev")):
            done = subprocess.run(["sh", "build"], cwd=folder, env={**harness.environment(), variable: value}, capture_output=True, text=True)

            self.assertEqual(done.returncode, 1)
            self.assertIn(words, done.stderr)


class OpenClTopFive(OpenCl):
    """Slow: the five best programs of every built-in, in two dtypes."""

    RANKS, DTYPES = (1, 2, 3, 4, 5), ("f32", "bf16")


class Cuda(Gpu):
    TARGET = "cuda"

    FLAGS = "-std=c++17 -O3 -diag-suppress 177 -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -Xptxas -v"

    def setUp(self):
        if shutil.which("nvcc") is None:
            self.skipTest("no nvcc: install the CUDA toolkit")
        super().setUp()

    def expect_no_spills(self, folder: str, *arguments) -> None:
        self.built(folder, *arguments, NVCCFLAGS=self.FLAGS)

        said, built = self.said
        self.assertIn("not run", said)
        spills = re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads", built)
        self.assertGreaterEqual(len(spills), 4)  # two architectures, of the program and of the input
        self.assertEqual(set(spills), {("0", "0")})
        resources = (self.folder / "code/resources.txt").read_text()
        self.assertIn("Compiled, not run", resources)
        for architecture in ("sm_80", "sm_90"):
            self.assertRegex(resources, rf"rmsnorm_linear_0 +{architecture} +[1-9]\d+ +0 +0 +\d+\n")

    def test_what_is_emitted_is_compiled_without_spills_and_said_not_to_be_run(self):
        self.found("rmsnorm_linear", SMALL, "f16")

        self.expect_no_spills("code")

    def test_it_is_not_measured_where_it_cannot_run(self):
        self.found("rmsnorm_linear", SMALL)

        self.expect_refused(self.espalier("measure", "run", "--target", "cuda"), "--target cuda", "not run", code=INVALID_INPUT)


class CudaTopFive(Cuda):
    """Slow: the five best programs of every built-in, of the sizes that it has by itself."""

    def test_what_is_emitted_is_compiled_without_spills_and_said_not_to_be_run(self):
        for builtin in BUILTINS:
            self.found(builtin, "tokens: 8" if "tokens" in BUILTINS[builtin] else "batch: 1", "f16")
            count = len(json.loads(self.espalier("show", "run", "--json").stdout)["results"])
            for rank in range(1, min(5, count) + 1):
                with self.subTest(builtin, rank=rank):
                    self.expect_no_spills(f"{builtin}-{rank}", "--program", str(rank))


if __name__ == "__main__":
    harness.main()
