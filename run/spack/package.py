# Copyright The Espalier developers
# SPDX-License-Identifier: Apache-2.0
"""Spack recipe; run/README.md says how to use it. tests/style/recipes_test.py compares it with what CMake looks for."""

from spack.package import *


class Espalier(CMakePackage):
    """Finds better tensor programs by pruned tree search, with MPI and OpenMP, on a laptop or on a supercomputer."""

    license("Apache-2.0")

    version("0.1.0")

    variant("otf2", default=True, description="Export traces for Vampir and Scalasca")
    variant("onnx", default=True, description="Read and write models in ONNX")
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
    depends_on("protobuf", when="+onnx")
    depends_on("py-onnx", type="build", when="+onnx")  # for onnx.proto alone
    depends_on("cuda", when="+cuda")

    conflicts("%gcc@:11", msg="C++20 needs GCC 12 or newer")

    def cmake_args(self):
        args = [
            self.define("ESPALIER_TESTS", False),
            self.define("ESPALIER_PERF", False),
            self.define_from_variant("ESPALIER_CUDA", "cuda"),
            self.define_from_variant("ESPALIER_CUDA_REQUIRED", "cuda"),
            self.define("CMAKE_DISABLE_FIND_PACKAGE_Protobuf", self.spec.satisfies("~onnx")),
        ]
        if self.spec.satisfies("+onnx"):
            description = find(self.spec["py-onnx"].prefix, "onnx.proto")[0]
            args.append(self.define("ESPALIER_ONNX_INCLUDE", ancestor(description, 2)))
        return args
