#!/usr/bin/env python3
"""Proves that every rule of style_test.py fires: a clean tiny project, and one with each fault."""

import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import style_test

MODULES = "espalier_module(NAME base)\nespalier_module(NAME config USES base LINKS yaml-cpp)\n" \
          "espalier_module(NAME search USES config)\nespalier_module(NAME store USES base)\n"
CLEAN = {
    ".clang-format": "BasedOnStyle: LLVM\n",
    "src/README.md": "Sources.\n",
    "include/README.md": "Headers.\n",
    "src/CMakeLists.txt": MODULES,
    "include/espalier/base/a.hpp": '#pragma once\n#include <fmt/core.h>\n#include <spdlog/spdlog.h>\n',
    "include/espalier/config/b.hpp": '#pragma once\n#include "espalier/base/a.hpp"\n',
    "src/config/b.cpp": '#include "espalier/config/b.hpp"\n#include "b_private.hpp"\n#include <yaml-cpp/yaml.h>\n',
    "src/config/b_private.hpp": "#pragma once\n",
    "src/search/c.cpp": '#include "espalier/base/a.hpp"\n\nvoid c(int n) {\n#pragma omp parallel default(none) shared(n)\n'
                        "  n++;\n#pragma omp for\n  for (int i = 0; i < n; ++i)\n    ;\n#pragma omp taskwait\n}\n",
    "src/app/main.cpp": '#include "espalier/config/b.hpp"\n#include <CLI/CLI.hpp>\nint main() {}\n',
}

KIND = {
    "src/CMakeLists.txt": MODULES + "espalier_module(NAME problems/words USES config)\n",
    "src/problems/words/kind.cpp": "ProblemSectionOf<WordsConfig> section;\n",
    "include/espalier/problems/words/kind.hpp": "#pragma once\nstruct WordsConfig {\n  int longest = 1;\n};\n",
}


def function(lines: int) -> str:
    return "void f() {\n" + "  int a;\n" * (lines - 2) + "}\n"


def deep(blocks: int) -> str:
    return "int f(int a) {\n" + "if (a) {\n" * blocks + "++a;\n" + "}\n" * blocks + "return a;\n}\n"


# What is changed in the clean project, and the finding that must then be there: path, line, a part of the message.
CASES = [
    ({"src/CMakeLists.txt": MODULES.replace("NAME base", "NAME base USES search")}, "src/CMakeLists.txt", 1, "cycle"),
    ({"src/CMakeLists.txt": MODULES + "espalier_module(NAME x USES nobody)\n"}, "src/CMakeLists.txt", 5, "not a module"),
    ({"src/CMakeLists.txt": "espalier_module(NAME x USES base)\n" + MODULES}, "src/CMakeLists.txt", 1, "not above it"),
    ({"include/espalier/base/a.hpp": '#include "espalier/config/b.hpp"\n'}, "include/espalier/base/a.hpp", 1, "may not include"),
    ({"src/store/d.cpp": '#include "espalier/config/b.hpp"\n'}, "src/store/d.cpp", 1, "no arrow to config"),
    ({"src/base/d.cpp": '#include "espalier/nowhere/b.hpp"\n'}, "src/base/d.cpp", 1, "may not include"),
    ({"src/lost/d.cpp": "int d;\n"}, "src/lost/d.cpp", 1, "belongs to no module"),
    ({"src/base/d.cpp": "#include <espalier/base/a.hpp>\n"}, "src/base/d.cpp", 1, "quoted"),
    ({"src/base/d.cpp": '#include "../config/b_private.hpp"\n'}, "src/base/d.cpp", 1, "neither public nor beside"),
    ({"src/base/d.cpp": "#include <yaml-cpp/yaml.h>\n"}, "src/base/d.cpp", 1, "only config"),
    ({"src/config/d.cpp": "#include <spdlog/spdlog.h>\n"}, "src/config/d.cpp", 1, "only base"),
    ({"src/config/d.cpp": "#include <nlohmann/json.hpp>\n"}, "src/config/d.cpp", 1, "only base"),
    ({"src/config/d.cpp": "#include <xxhash.h>\n"}, "src/config/d.cpp", 1, "only base"),
    ({"src/base/d.cpp": "#include <z3++.h>\n"}, "src/base/d.cpp", 1, "only smt"),
    ({"src/base/d.cpp": "#include <omp.h>\n"}, "src/base/d.cpp", 1, "only search"),
    ({"src/base/d.cpp": "#include <hdf5.h>\n"}, "src/base/d.cpp", 1, "only store"),
    ({"src/base/d.cpp": "#include <H5Tpublic.h>\n"}, "src/base/d.cpp", 1, "only store"),
    ({"src/app/d.cpp": "#include <mpi.h>\n"}, "src/app/d.cpp", 1, "only cluster"),
    ({"src/base/d.cpp": "#include <CLI/CLI.hpp>\n"}, "src/base/d.cpp", 1, "only app"),
    ({"src/base/d.cpp": "int d;\n#pragma omp barrier\n"}, "src/base/d.cpp", 2, "search only"),
    ({"src/search/d.cpp": "int d;\n#pragma omp parallel for \\\n    schedule(dynamic)\n"}, "src/search/d.cpp", 2, "default(none)"),
    ({"src/search/d.cpp": "#pragma omp task shared(x)\n"}, "src/search/d.cpp", 1, "default(none)"),
    ({"src/search/d.cpp": '#define D _Pragma("omp taskloop")\n'}, "src/search/d.cpp", 1, "default(none)"),
    ({"src/app/d.cpp": "int d;\nvoid e() { fmt::print(\"x\"); }\n"}, "src/app/d.cpp", 2, "keep terminals safe"),
    ({"include/espalier/config/d.hpp": "#pragma once\ninline void e() { std::cerr << 1; }\n"}, "include/espalier/config/d.hpp", 2, "keep terminals safe"),
    (KIND | {"src/app/d.cpp": 'auto d = "words";\n'}, "src/app/d.cpp", 1, "knows a kind"),
    (KIND | {"src/app/d.cpp": 'int e;\nusing problems::words::Config;\n'}, "src/app/d.cpp", 2, "knows a kind"),
    (KIND | {"src/app/d.cpp": '#include "espalier/problems/words/kind.hpp"\n'}, "src/app/d.cpp", 1, "knows a kind"),
    (KIND | {"src/app/d.cpp": 'int e;\nWordsConfig d;\n'}, "src/app/d.cpp", 2, "knows a kind"),
    (KIND | {"src/problems/words/kind.cpp": "int k;\n"}, "src/problems/words/kind.cpp", 1, "not in its folder"),
    (KIND | {"include/espalier/problems/words/kind.hpp": "#pragma once\n"}, "src/problems/words/kind.cpp", 1, "not in its folder"),
    ({"src/config/d.cpp": "ProblemSectionOf<Other> section;\n"}, "src/config/d.cpp", 1, "in its own folder"),
    ({"src/base/d.cpp": "int e;\n" + function(51)}, "src/base/d.cpp", 2, "a function of 51 lines"),
    ({"src/base/d.cpp": deep(4)}, "src/base/d.cpp", 1, "blocks 4 deep"),
    ({f"src/base/d{i}.cpp": function(7) for i in range(30)}, "src", 1, "50% of the functions"),
    ({f"src/base/d{i}.cpp": function(4 if i < 26 else 16) for i in range(30)}, "src", 1, "90% of the functions"),
    ({f"src/base/d{i}.cpp": "\n" * 300 for i in range(4)}, "tests", 1, "less than 0.6"),
    ({"config/README.md": "a\tb\n"}, "config/README.md", 1, "tab"),
    ({"config/README.md": "a\nb \n"}, "config/README.md", 2, "trailing blank"),
    ({"config/README.md": "a"}, "config/README.md", 1, "no newline"),
    ({"config/README.md": "a\n" + "TO" + "DO: b\n"}, "config/README.md", 2, "finish it"),
    ({"config/README.md": "see /ro" + "ot/x\n"}, "config/README.md", 1, "one machine"),
    ({"config/x.yaml": "a: 1\n"}, "config/README.md", 1, "missing"),
    ({"notes.txt": "a\n"}, "notes.txt", 1, "top-level layout"),
    ({"include/espalier/base/d.hpp": "\n" * 201}, "include/espalier/base/d.hpp", 201, "200 are enough"),
    ({"src/base/d.cpp": "\n" * 401}, "src/base/d.cpp", 401, "400 are enough"),
]
CLEAN_CASES = [
    KIND,
    {"src/base/d.cpp": function(50) + deep(3)},
    {f"src/base/d{i}.cpp": function(6 if i < 27 else 15) for i in range(30)},
    {"src/base/d.cpp": "\n" * 400, "src/base/e.cpp": "\n" * 400, "src/base/f.cpp": "\n" * 400,
     "tests/README.md": "Tests.\n", "tests/base/d_test.cpp": "\n" * 400, "tests/base/e_test.cpp": "\n" * 390},
]
FORMAT_CASES = [
    ({"src/base/d.cpp": "int   d;\n"}, "src/base/d.cpp", 1, "format"),
    ({".clang-format": "NoSuchKey: 1\n"}, ".clang-format", 1, "failed"),
]


def judge(files: dict[str, str]) -> list[style_test.Finding]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        subprocess.run("git init -q && git add -A", shell=True, cwd=root, check=True, stderr=subprocess.DEVNULL)
        return style_test.findings(style_test.Tree.tracked(root))


def main() -> int:
    failures = [f"a finding in the clean project: {finding}"
                for change in [{}, *CLEAN_CASES] for finding in judge(CLEAN | change) if "clang-format" not in finding.message]
    cases = CASES + (FORMAT_CASES if style_test.clang_format() else [])
    for change, path, line, message in cases:
        found = judge(CLEAN | change)
        if not any(f.path == path and f.line == line and message in f.message for f in found):
            failures.append(f"{change}: expected {path}:{line}: ...{message}..., found {[str(f) for f in found]}")
    print(*failures, sep="\n" if failures else "")
    print(f"style self-test: {len(cases)} cases, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
