#!/usr/bin/env python3
"""usage: recipes_test.py [PROJECT]

The recipes of run/ name what the build looks for: each library that src/cmake/EspalierDependencies.cmake finds is a dependency of
run/spack/package.py and a package of run/setup, and nothing else is. One version everywhere.
"""

import ast
import re
import sys
from pathlib import Path

PROJECT = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2]).resolve()

# What CMake finds, by the name in find_package or in find_path(ESPALIER_<NAME>_INCLUDE): its package in Spack and in Debian.
# None: a part of the compiler, of the system or of an optional toolkit.
LIBRARIES = {
    "fmt": ("fmt", "libfmt-dev"), "spdlog": ("spdlog", "libspdlog-dev"), "nlohmann_json": ("nlohmann-json", "nlohmann-json3-dev"),
    "yaml-cpp": ("yaml-cpp", "libyaml-cpp-dev"), "HDF5": ("hdf5", "libhdf5-dev"), "MPI": ("mpich", "libmpich-dev"),
    "XXHASH": ("xxhash", "libxxhash-dev"), "CLI11": ("cli11", "libcli11-dev"), "Z3": ("z3", "libz3-dev"),
    "OTF2": ("otf2", "libotf2-trace-dev"), "Protobuf": ("protobuf", "libprotobuf-dev"),
    "ONNX": ("py-onnx", "libonnx-dev"), "CUDA": ("cuda", None), "Threads": (None, None), "OpenMP": (None, None),
}
TOOLS = {"c", "cxx", "cmake"}       # of the build itself


def text(path: str) -> str:
    return (PROJECT / path).read_text()


def found_by_cmake() -> set[str]:
    cmake = re.sub(r"#[^\n]*", "", text("src/cmake/EspalierDependencies.cmake"))
    names = set(re.findall(r"find_package\((\S+)", cmake)) | set(re.findall(r"find_path\(ESPALIER_(\w+)_INCLUDE", cmake))
    return names | set(re.findall(r"check_language\((\w+)\)", cmake))


def calls(recipe: ast.Module, name: str) -> list[ast.Call]:
    return [node for node in ast.walk(recipe) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == name]


def spack_dependencies(recipe: ast.Module) -> set[str]:
    return {re.match(r"[\w-]+", call.args[0].value)[0] for call in calls(recipe, "depends_on")}


def debian_packages() -> set[str]:
    return set(re.search(r"^packages=\((.*?)^\)", text("run/setup"), re.MULTILINE | re.DOTALL)[1].split())


def versions(recipe: ast.Module) -> dict[str, str]:
    return {"CMakeLists.txt": re.search(r"project\(espalier VERSION ([\d.]+)", text("CMakeLists.txt"))[1],
            "run/spack/package.py": calls(recipe, "version")[0].args[0].value,
            "CITATION.cff": re.search(r"(?m)^version: ([\d.]+)$", text("CITATION.cff"))[1],
            "CHANGELOG.md": re.search(r"(?m)^## \[([\d.]+)\] - \d{4}-\d\d-\d\d$", text("CHANGELOG.md"))[1]}


def dates() -> dict[str, str]:
    return {"CITATION.cff": re.search(r"(?m)^date-released: (\S+)$", text("CITATION.cff"))[1],
            "CHANGELOG.md": re.search(r"(?m)^## \[[\d.]+\] - (\S+)$", text("CHANGELOG.md"))[1]}


def findings() -> list[str]:
    recipe = ast.parse(text("run/spack/package.py"), "run/spack/package.py")
    cmake, spack, debian = found_by_cmake(), spack_dependencies(recipe) - TOOLS, debian_packages()
    found = [f"src/cmake/EspalierDependencies.cmake finds {name}: add it to LIBRARIES here" for name in sorted(cmake - set(LIBRARIES))]
    found += [f"LIBRARIES has {name}, which nobody looks for" for name in sorted(set(LIBRARIES) - cmake)]
    wanted = {LIBRARIES[name][0] for name in cmake & set(LIBRARIES)} - {None}
    found += [f"run/spack/package.py: depends_on(\"{name}\") is missing" for name in sorted(wanted - spack)]
    found += [f"run/spack/package.py: depends_on(\"{name}\"), which CMake does not look for" for name in sorted(spack - wanted)]
    found += [f"run/setup: {LIBRARIES[name][1]} is missing" for name in sorted(cmake & set(LIBRARIES))
              if LIBRARIES[name][1] not in debian | {None}]
    if not any(isinstance(node, ast.ClassDef) and [base.id for base in node.bases] == ["CMakePackage"] for node in recipe.body):
        found.append("run/spack/package.py: no class that is a CMakePackage")
    for what in (versions(recipe), dates()):
        if len(set(what.values())) != 1:
            found.append(f"not the same everywhere: {what}")
    return found


if __name__ == "__main__":
    for finding in findings():
        print(finding)
    sys.exit(1 if findings() else 0)
