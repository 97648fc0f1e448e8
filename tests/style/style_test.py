#!/usr/bin/env python3
"""Checks the house rules that a compiler does not: module arrows, third-party homes, OpenMP clauses, who knows
a kind of problems, sizes of functions and files, format, layout.

usage: style_test.py [PROJECT]

Looks at the files that git tracks. One line per finding, `path:line: message`; exit 1 if there is any.
A new rule is one function that yields findings, an entry in RULES, and a case in style_selftest.py.
"""

import functools
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator, NamedTuple

import metrics

CPP = {".hpp", ".cpp", ".cu", ".cuh"}
HEADERS = {".hpp", ".cuh"}
HEADER_LINES, SOURCE_LINES = 200, 400

# Files that may be longer, each with its reason.
LONG_FILES: dict[str, str] = {}

TOP_LEVEL = {
    "CMakeLists.txt", "CMakePresets.json", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff",
    "third_party_notes.md", "src", "include", "config", "run", "tests", "perf",
}

# Third-party headers and the only module (with the modules below it) that includes them. fmt is the exception: it is base's public vocabulary
# (errors and log messages are format strings), so every module may use it.
EVERYWHERE = "*"
HOMES = [
    (r"fmt/", EVERYWHERE),
    (r"spdlog/", "base"),
    (r"nlohmann/", "base"),
    (r"xxh(ash|3)\.h$", "base"),
    (r"yaml-cpp/", "config"),
    (r"z3[\w+]*\.h$", "smt"),
    (r"omp\.h$", "search"),
    (r"(hdf5\w*|H5\w*)\.h$", "store"),
    (r"mpi\.h$", "cluster"),
    (r"cuda\w*\.h$", "verify"),
    (r"CLI/", "app"),
    (r"otf2/", "analysis/exports"),
    (r"(onnx\.pb\.h$|onnx/|google/protobuf/)", "model"),
]
GENERATED = {"build_config.hpp", "onnx.pb.h"}  # by CMake, in the build folder

CLANG_FORMAT = 14  # other versions lay the same code out differently


class Finding(NamedTuple):
    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


@dataclass(frozen=True)
class Tree:
    """The tracked files of a project."""

    root: Path
    files: tuple[str, ...]

    @staticmethod
    def tracked(root: Path) -> "Tree":
        listed = subprocess.run(["git", "-c", "safe.directory=*", "-C", str(root), "ls-files", "-z"], check=True,
                                capture_output=True, text=True).stdout
        return Tree(root, tuple(sorted(f for f in listed.split("\0") if f and (root / f).is_file())))

    @functools.cache
    def text(self, path: str) -> str:
        """Empty for a binary file."""
        data = (self.root / path).read_bytes()
        return "" if b"\0" in data else data.decode("utf-8", "replace")

    def lines(self, path: str) -> Iterator[tuple[int, str]]:
        return enumerate(self.text(path).split("\n"), 1)

    def cpp(self, *folders: str) -> Iterator[str]:
        return (f for f in self.files if Path(f).suffix in CPP and (not folders or f.split("/")[0] in folders))


# --- modules ---------------------------------------------------------------------------------------------------------

MODULE_TABLE = "src/CMakeLists.txt"


class Module(NamedTuple):
    line: int
    uses: tuple[str, ...]


def module_table(tree: Tree) -> dict[str, Module]:
    """What src/CMakeLists.txt says, in its order."""
    if MODULE_TABLE not in tree.files:
        return {}
    text = re.sub(r"#[^\n]*", "", tree.text(MODULE_TABLE))
    table = {}
    for call in re.finditer(r"espalier_module\(([^)]*)\)", text):
        words, lists, key = call[1].split(), {}, ""
        for word in words:
            if word in ("NAME", "DIRECTORY", "TOGETHER", "USES", "LINKS", "PUBLIC_LINKS"):
                key = word
                lists[key] = []
            else:
                lists.setdefault(key, []).append(word)
        table[lists["NAME"][0]] = Module(text.count("\n", 0, call.start()) + 1, tuple(lists.get("USES", ())))
    return table


def reachable(table: dict[str, Module], start: str) -> set[str]:
    seen, stack = set(), [start]
    while stack:
        name = stack.pop()
        if name not in seen and name in table:
            seen.add(name)
            stack.extend(table[name].uses)
    return seen


def module_of(table: dict[str, Module], path: str) -> str | None:
    """The module a path below include/espalier/ or src/ belongs to: the longest name that is a folder of it."""
    folder = path.rpartition("/")[0]
    names = [n for n in [*table, "app"] if folder == n or folder.startswith(n + "/")]
    return max(names, key=len, default=None)


def module_files(tree: Tree, table: dict[str, Module]) -> Iterator[tuple[str, str | None]]:
    for path in tree.cpp("include", "src"):
        yield path, module_of(table, re.sub(r"^(include/espalier|src)/", "", path))


def includes(tree: Tree, path: str) -> Iterator[tuple[int, str, str]]:
    for number, line in tree.lines(path):
        if found := re.match(r"\s*#\s*include\s*([<\"])([^>\"]+)[>\"]", line):
            yield number, found[1], found[2]


def check_module_table(tree: Tree) -> Iterator[Finding]:
    table = module_table(tree)
    above: set[str] = set()
    for name, module in table.items():
        for used in module.uses:
            if used not in table:
                yield Finding(MODULE_TABLE, module.line, f"{name} uses {used}, which is not a module")
            elif name in reachable(table, used):
                yield Finding(MODULE_TABLE, module.line, f"cycle: {name} uses {used}, which uses {name}")
            elif used not in above:
                yield Finding(MODULE_TABLE, module.line, f"{name} uses {used}, which is not above it")
        above.add(name)


def check_arrows(tree: Tree) -> Iterator[Finding]:
    table = module_table(tree)
    for path, module in module_files(tree, table):
        if module is None:
            yield Finding(path, 1, f"belongs to no module of {MODULE_TABLE}")
            continue
        allowed = set(table) if module == "app" else reachable(table, module)
        for line, _, header in includes(tree, path):
            if not header.startswith("espalier/"):
                continue
            used = module_of(table, header.removeprefix("espalier/"))
            if used not in allowed | {module}:
                yield Finding(path, line, f"{module} may not include {header} ({MODULE_TABLE} has no arrow to {used})")


def check_private_includes(tree: Tree) -> Iterator[Finding]:
    """A quoted include is a public header by its full path or a private one of the same folder."""
    for path in tree.cpp("include", "src"):
        beside = Path(path).parent
        for line, quote, header in includes(tree, path):
            if quote == "<" and header.startswith("espalier/"):
                yield Finding(path, line, f"write \"{header}\": our own headers are quoted")
            if quote == '"' and not header.startswith("espalier/") and header not in GENERATED:
                if "/" in header or str(beside / header) not in tree.files:
                    yield Finding(path, line, f"\"{header}\" is neither public nor beside this file")


def check_homes(tree: Tree) -> Iterator[Finding]:
    for path, module in module_files(tree, module_table(tree)):
        for line, _, header in includes(tree, path):
            home = next((home for prefix, home in HOMES if re.match(prefix, header)), EVERYWHERE)
            if home != EVERYWHERE and module != home and not module.startswith(home + "/"):
                yield Finding(path, line, f"only {home} includes {header}")
        if module != "search":
            for line, pragma in omp_pragmas(tree, path):
                yield Finding(path, line, f"OpenMP lives in search only: omp {pragma}")


# --- OpenMP ----------------------------------------------------------------------------------------------------------

def omp_pragmas(tree: Tree, path: str) -> Iterator[tuple[int, str]]:
    """Line and text after `omp`, continuation lines joined."""
    text = tree.text(path)
    pattern = r"^[ \t]*#[ \t]*pragma[ \t]+omp[ \t]+((?:\\\n|[^\n])*)|_Pragma\(\s*\"omp ([^\"]*)\""
    for found in re.finditer(pattern, text, re.MULTILINE):
        words = (found[1] or found[2] or "").replace("\\\n", " ")
        yield text.count("\n", 0, found.start()) + 1, " ".join(words.split())


def check_default_none(tree: Tree) -> Iterator[Finding]:
    """default(none) is legal, and wanted, on the constructs that make threads or tasks."""
    for path in tree.cpp():
        for line, pragma in omp_pragmas(tree, path):
            directive = re.match(r"[a-z ]*", pragma)[0].split()
            if directive[:1] in (["cancel"], ["cancellation"]):
                continue
            if {"parallel", "task", "taskloop", "teams"} & set(directive):
                if not re.search(r"\bdefault\s*\(\s*none\s*\)", pragma):
                    yield Finding(path, line, f"without default(none): omp {pragma}")


# --- printing --------------------------------------------------------------------------------------------------------

PRINTS = re.compile(r"\bfmt::print\(|\bstd::(cout|cerr|clog)\b|\b(printf|fprintf|puts|fputs)\(")


def check_printing(tree: Tree) -> Iterator[Finding]:
    """Texts from files and names reach a terminal only through base, which makes them printable."""
    for path in tree.cpp():
        if not path.startswith(("src/", "include/")) or path.startswith(("src/base/", "include/espalier/base/")):
            continue
        for number, line in tree.lines(path):
            if found := PRINTS.search(line.split("//")[0]):
                yield Finding(path, number, f"{found[0]}: print with base/print.hpp or base/log.hpp, which keep terminals safe")


# --- kinds of problems -----------------------------------------------------------------------------------------------


def kinds_of(tree: Tree) -> list[str]:
    return sorted(path.split("/")[2] for path in tree.files if re.fullmatch(r"src/problems/\w+/kind\.cpp", path))


def folder_files(tree: Tree, kind: str) -> Iterator[str]:
    return (path for path in tree.cpp("include", "src")
            if path.startswith((f"src/problems/{kind}/", f"include/espalier/problems/{kind}/")))


def config_types(tree: Tree, kind: str) -> set[str]:
    """Names of the structs that its experiments are read into."""
    return {name for path in folder_files(tree, kind)
            for name in re.findall(r"^\s*(?:struct|class) (\w+Config) ", tree.text(path), re.MULTILINE)}


def check_kinds(tree: Tree) -> Iterator[Finding]:
    """Outside of `problems` nobody knows a kind by its name: no literal, no include, no name of its namespace or config."""
    kinds = kinds_of(tree)
    if not kinds:
        return
    named = "|".join(kinds)
    types = "|".join(sorted({name for kind in kinds for name in config_types(tree, kind)})) or "(?!)"
    known = re.compile(rf'"[^"]*\b({named})\b[^"]*"|espalier/problems/({named})/|problems::({named})::|\b({types})\b')
    for path in tree.cpp("include", "src"):
        if path.startswith(("src/problems/", "include/espalier/problems/")):
            continue
        for number, line in tree.lines(path):
            found = known.search(line.split("//")[0])
            if found and not (line.startswith("#include") and "espalier/problems/" not in line):
                yield Finding(path, number, f"{found[0]}: only its own folder knows a kind of problems; ask problems::Kind")


def check_kind_folders(tree: Tree) -> Iterator[Finding]:
    """A kind's config and the table of its keys live in its own folder."""
    for kind in kinds_of(tree):
        text = "".join(tree.text(path) for path in folder_files(tree, kind))
        if not config_types(tree, kind) or "ProblemSectionOf<" not in text:
            yield Finding(f"src/problems/{kind}/kind.cpp", 1, "its config or the table of its keys is not in its folder")
    for path in tree.cpp("include", "src"):
        if not path.startswith(("src/problems/", "include/espalier/problems/")):
            for number, line in tree.lines(path):
                if "ProblemSectionOf<" in line.split("//")[0]:
                    yield Finding(path, number, "the keys of a kind of problems are described in its own folder")


# --- sizes -----------------------------------------------------------------------------------------------------------

# How long functions are: at the median, at 90 % of them, and the longest. Few files say little about a median.
MEDIAN_LINES, MOST_LINES, LONGEST, FEWEST_FUNCTIONS = 6, 15, 50, 20
NESTING = 3
TEST_SHARE = 0.6  # lines of tests by lines of sources


def check_functions(tree: Tree) -> Iterator[Finding]:
    found = [(path, function) for path in tree.cpp("include", "src") for function in metrics.functions(tree.text(path))]
    for path, function in found:
        if function.lines > LONGEST:
            yield Finding(path, function.line, f"a function of {function.lines} lines, {LONGEST} are enough: split it")
        if function.nesting > NESTING:
            yield Finding(path, function.line, f"blocks {function.nesting} deep, {NESTING} are enough: return early or split it")
    if len(found) < FEWEST_FUNCTIONS:
        return
    sizes = sorted(function.lines for _, function in found)
    for share, limit in ((0.5, MEDIAN_LINES), (0.9, MOST_LINES)):
        if (size := sizes[int(share * len(sizes))]) > limit:
            yield Finding("src", 1, f"{share:.0%} of the functions have up to {size} lines, {limit} before: write smaller ones")


def check_test_share(tree: Tree) -> Iterator[Finding]:
    def lines(files: Iterator[str]) -> int:
        return sum(tree.text(path).count("\n") for path in files)

    sources = lines(tree.cpp("include", "src"))
    tests = lines(path for path in tree.files if path.startswith("tests/") and Path(path).suffix in CPP | {".py", ".sh"})
    if sources > 1000 and tests < TEST_SHARE * sources:
        yield Finding("tests", 1, f"{tests} lines for {sources} lines of sources: less than {TEST_SHARE}")


# --- text ------------------------------------------------------------------------------------------------------------

# Written in pieces, so that this file does not find itself.
UNFINISHED = re.compile(r"\b(" + "TO" + "DO|FIX" + r"ME)\b")
MACHINE_PATH = re.compile(r"(?<![\w.}/-])/(" + "wo" + "rk|ro" + "ot|home" + r")/\w")


def check_text(tree: Tree) -> Iterator[Finding]:
    for path in tree.files:
        text = tree.text(path)
        for number, line in tree.lines(path):
            if "\t" in line:
                yield Finding(path, number, "tab")
            if line != line.rstrip():
                yield Finding(path, number, "trailing blank")
            if found := UNFINISHED.search(line):
                yield Finding(path, number, f"{found[0]}: finish it or open an issue")
            if found := MACHINE_PATH.search(line):
                yield Finding(path, number, f"a path of one machine: {found[0]}")
        if text and not text.endswith("\n"):
            yield Finding(path, text.count("\n") + 1, "no newline at the end of the file")


def check_sizes(tree: Tree) -> Iterator[Finding]:
    for path in tree.cpp():
        limit = HEADER_LINES if Path(path).suffix in HEADERS else SOURCE_LINES
        size = tree.text(path).count("\n")
        if size > limit and path not in LONG_FILES:
            yield Finding(path, size, f"{size} lines, {limit} are enough: split it (or say why in LONG_FILES)")
    for path in LONG_FILES:
        if path not in tree.files:
            yield Finding("tests/style/style_test.py", 1, f"LONG_FILES names {path}, which is gone")


def check_layout(tree: Tree) -> Iterator[Finding]:
    entries = sorted({f.split("/")[0] for f in tree.files})
    for entry in entries:
        if entry not in TOP_LEVEL and not entry.startswith("."):
            yield Finding(entry, 1, "not part of the top-level layout: it belongs into one of its folders")
    for folder in {f.split("/")[0] for f in tree.files if "/" in f}:
        if not folder.startswith(".") and f"{folder}/README.md" not in tree.files:
            yield Finding(f"{folder}/README.md", 1, "missing: what is in this folder and where a new thing goes")


# --- clang-format ----------------------------------------------------------------------------------------------------

def clang_format() -> str | None:
    """The program of the right version, or None."""
    for name in (f"clang-format-{CLANG_FORMAT}", "clang-format"):
        if program := shutil.which(name):
            version = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
            if re.search(rf"version {CLANG_FORMAT}\.", version):
                return program
    return None


def check_format(tree: Tree) -> Iterator[Finding]:
    program, files = clang_format(), list(tree.cpp())
    if program is None:
        print(f"style: format not checked: clang-format {CLANG_FORMAT} is not installed", file=sys.stderr)
        return
    if not files:
        return
    check = subprocess.run([program, "--dry-run", "-Werror", "--ferror-limit=1", *files], cwd=tree.root,
                           capture_output=True, text=True)
    places = re.findall(r"^(.+?):(\d+):\d+: error: code should be clang-formatted", check.stderr, re.MULTILINE)
    for path, line in places:
        yield Finding(path, int(line), f"format: clang-format -i {path}")
    if check.returncode != 0 and not places:
        yield Finding(".clang-format", 1, "clang-format failed: " + check.stderr.split("\n")[0])


RULES = (check_module_table, check_arrows, check_private_includes, check_homes, check_default_none, check_printing,
         check_kinds, check_kind_folders, check_functions, check_test_share, check_text, check_sizes, check_layout, check_format)


def findings(tree: Tree) -> list[Finding]:
    return sorted({finding for rule in RULES for finding in rule(tree)})


def main() -> int:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2]).resolve()
    try:
        tree = Tree.tracked(root)
    except (OSError, subprocess.CalledProcessError):
        print(f"style: {root} is not a git checkout: nothing to judge", file=sys.stderr)
        return 77
    found = findings(tree)
    for finding in found:
        print(finding)
    print(f"style: {len(tree.files)} files, {len(found)} findings", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
