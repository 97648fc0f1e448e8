#!/usr/bin/env python3
"""Every class of tests of the scripts in tests/app and tests/fault is a test of CTest: one that nobody registered would never run.

usage: scripts_test.py SOURCE_DIR"""

import ast
import re
import sys
from pathlib import Path


def tested(source: str) -> set[str]:
    """The classes with tests of their own."""
    classes = (node for node in ast.parse(source).body if isinstance(node, ast.ClassDef))
    return {node.name for node in classes if any(isinstance(part, ast.FunctionDef) and part.name.startswith("test_") for part in node.body)}


def registered(cmake: str, folder: str, script: str) -> set[str]:
    found = re.search(rf"^espalier_script\({folder} {script} ([\w ]+)\)", cmake, re.MULTILINE)
    return set(found.group(1).split()) if found else set()


def check_itself() -> None:
    source = "class A:\n    def test_a(self): pass\nclass Base:\n    def helper(self): pass\nclass B:\n    def test_b(self): pass\n"
    assert tested(source) == {"A", "B"}
    assert tested(source) - registered("espalier_script(app one A)\n", "app", "one") == {"B"}
    assert registered("espalier_script(app one A)\n", "app", "two") == set()


def main() -> int:
    check_itself()
    tests = Path(sys.argv[1]) / "tests"
    cmake = (tests / "CMakeLists.txt").read_text()
    missing = [f"{file}: {name} is not in tests/CMakeLists.txt: add it to espalier_script({folder} ...)"
               for folder in ("app", "fault") for file in sorted((tests / folder).glob("*_test.py"))
               for name in sorted(tested(file.read_text()) - registered(cmake, folder, file.name.removesuffix("_test.py")))]
    print("\n".join(missing) or "all are registered")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
