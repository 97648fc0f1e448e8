# Copyright The Espalier developers
# SPDX-License-Identifier: Apache-2.0
"""Spack recipe; run/README.md says how to use it. tests/style/recipes_test.py compares it with what CMake looks for."""

from spack.package import *


class Espalier(CMakePackage):
    """Finds better tensor programs by pruned tree search, with MPI and OpenMP, on a laptop or on a supercomputer."""

    license("Apache-2.0")

    version("0.1.0")

    variant("otf2", default=True, description="Export traces for Vampir and Scalasca")
    variant("cuda", default=False, description="Evaluate candidates on NVIDIA GPUs")

    generator("ninja")
    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")

    depends_on("mpich")  # no other MPI: how ranks are started, signalled and lost is MPICH's
    depends_on("hdf5~mpi")  # every rank writes its own file
    depends_on("z3")
    depends_on("yaml-cpp")
    depends_on("fmt")
    depends_on("spdlog+fmt_external")
    depends_on("nlohmann-json")
    depends_on("xxhash")
    depends_on("cli11")
    depends_on("otf2", when="+otf2")
    depends_on("cuda", when="+cuda")

    conflicts("%gcc@:11", msg="C++20 needs GCC 12 or newer")

    def cmake_args(self):
        return [
            self.define("ESPALIER_TESTS", False),
            self.define("ESPALIER_PERF", False),
            self.define_from_variant("ESPALIER_CUDA", "cuda"),
            self.define_from_variant("ESPALIER_CUDA_REQUIRED", "cuda"),
        ]
