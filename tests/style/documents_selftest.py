#!/usr/bin/env python3
"""Proves that module_graph.py and recipes_test.py notice: each is run on a copy of what it reads, as it is and with one fault."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
READ = ["CMakeLists.txt", "CHANGELOG.md", "CITATION.cff", "src/README.md", "src/CMakeLists.txt", "src/cmake/EspalierDependencies.cmake",
        "run/setup", "run/spack/package.py"]
GRAPH, RECIPES = ["module_graph.py", "--check"], ["recipes_test.py"]

# Who must notice, the file that is changed, what is replaced by what, and a part of what is then said.
CASES = [
    (GRAPH, "src/CMakeLists.txt", "espalier_module(NAME field USES base)", "espalier_module(NAME field USES base trace)", "field"),
    (GRAPH, "src/CMakeLists.txt", "espalier_module(NAME app ", "espalier_module(NAME more USES base)\nespalier_module(NAME app ", "more"),
    (GRAPH, "src/README.md", "--> base\n", "--> search\n", "--write"),
    (RECIPES, "src/cmake/EspalierDependencies.cmake", "find_package(fmt REQUIRED)", "find_package(fmt REQUIRED)\nfind_package(Boost)", "Boost"),
    (RECIPES, "src/cmake/EspalierDependencies.cmake", "find_package(yaml-cpp REQUIRED)", "", "yaml-cpp"),
    (RECIPES, "run/spack/package.py", '    depends_on("z3")\n', "", 'depends_on("z3") is missing'),
    (RECIPES, "run/spack/package.py", 'depends_on("z3")', 'depends_on("z3")\n    depends_on("boost")', "does not look for"),
    (RECIPES, "run/spack/package.py", "(CMakePackage)", "(Package)", "CMakePackage"),
    (RECIPES, "run/spack/package.py", "def cmake_args(self):", "def cmake_args(self)", "SyntaxError"),
    (RECIPES, "run/setup", "libspdlog-dev ", "", "libspdlog-dev is missing"),
    (RECIPES, "CITATION.cff", "\nversion: ", "\nversion: 9", "not the same everywhere"),
]


def run(script: list[str], project: Path) -> tuple[int, str]:
    done = subprocess.run([sys.executable, "-B", str(HERE / script[0]), *script[1:], str(project)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def project_in(folder: Path) -> None:
    for path in READ:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / path, folder / path)


def problem_of(script: list[str], path: str, old: str, new: str, said: str) -> str:
    """Empty: the fault was noticed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        project_in(folder)
        code, output = run(script, folder)
        if code != 0:
            return f"{script[0]} fails without a fault:\n{output}"
        text = (folder / path).read_text()
        if old not in text:
            return f"{path} has no {old!r}: change the case"
        (folder / path).write_text(text.replace(old, new, 1))
        code, output = run(script, folder)
        return "" if code == 1 and said in output else f"{script[0]} did not notice {new!r} in {path} (exit code {code}):\n{output}"


if __name__ == "__main__":
    problems = [problem for case in CASES if (problem := problem_of(*case))]
    print("\n".join(problems) or f"{len(CASES)} faults, all noticed")
    sys.exit(1 if problems else 0)
