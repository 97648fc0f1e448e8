#!/usr/bin/env python3
"""Runs clang-tidy with the checks of .clang-tidy.

usage: tidy_test.py BUILD PROJECT [--all]

By default on the sources that the last commit or uncommitted work changed, at most a few of them, since a source takes seconds;
--all: on every source. A source that this clang cannot compile because of the standard library's own headers (clang 14 does not know
all of the ranges of libstdc++ 12) is named and not judged. Exit code 1 if there is a finding, 77 if there is nothing to do or no clang-tidy
of the right version.
"""

import concurrent.futures
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

VERSION = 14
MOST = 4  # of about 4 s each
SKIPPED = 77
FOREIGN = ("-fsanitize", "-Werror", "-fno-sanitize", "-Winvalid-pch")


def clang_tidy() -> str | None:
    for name in (f"clang-tidy-{VERSION}", "clang-tidy"):
        if program := shutil.which(name):
            said = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
            if re.search(rf"version {VERSION}\.", said):
                return program
    return None


def git(project: Path, *arguments: str) -> list[str]:
    said = subprocess.run(["git", "-c", "safe.directory=*", "-C", str(project), *arguments], capture_output=True, text=True)
    return said.stdout.split("\n") if said.returncode == 0 else []


def sources(project: Path, is_all: bool) -> list[str]:
    if is_all:
        names = git(project, "ls-files", "src/*.cpp")
    else:
        names = git(project, "diff", "--name-only", "HEAD", "--", "src/*.cpp") + git(project, "diff", "--name-only", "HEAD~1", "HEAD", "--", "src/*.cpp")
    found = sorted({name for name in names if name and (project / name).is_file() and "/cuda/" not in name})
    return found if is_all else found[:MOST]


def flags_by_folder(build: Path) -> dict[str, list[str]]:
    """Module -> flags: the sources of a module share theirs, also where several are compiled together."""
    table: dict[str, list[str]] = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        output = words[words.index("-o") + 1]
        if found := re.search(r"src/CMakeFiles/espalier_(\w+)\.dir/", output):
            joined = " ".join(words).replace("-isystem ", "-isystem").split()
            table.setdefault(found[1], [word for word in joined if re.match(r"-(D|I|isystem|std|f)", word) and not word.startswith(FOREIGN)])
    return table


def flags_of(table: dict[str, list[str]], source: str) -> list[str] | None:
    """Of the innermost module that the source belongs to."""
    folders = source.removeprefix("src/").split("/")[:-1]
    for depth in range(len(folders), 0, -1):
        if flags := table.get("_".join(folders[:depth])):
            return flags
    return None


def judge(program: str, project: Path, source: str, flags: list[str]) -> str:
    command = [program, "--quiet", source, "--", "-Wno-everything", *flags]
    said = subprocess.run(command, cwd=project, capture_output=True, text=True)
    if said.returncode == 0:
        return ""
    told = re.findall(r"^(\S+):\d+:\d+: (?:error|warning): .*\[([^][]+)\]$", said.stdout, re.MULTILINE)
    if told and all(name == "clang-diagnostic-error" and file.startswith("/usr/") for file, name in told):
        print(f"tidy: {source} is not judged: clang {VERSION} cannot compile the headers that it includes", file=sys.stderr)
        return ""
    return said.stdout or said.stderr


def main() -> int:
    build, project, is_all = Path(sys.argv[1]), Path(sys.argv[2]).resolve(), "--all" in sys.argv[3:]
    program, chosen = clang_tidy(), sources(project, is_all)
    if program is None or not chosen:
        print(f"tidy: nothing done: {'no source was changed' if program else f'clang-tidy {VERSION} is not installed'}", file=sys.stderr)
        return SKIPPED
    table = flags_by_folder(build)
    jobs = {source: flags for source in chosen if (flags := flags_of(table, source)) is not None}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() if is_all else 1) as pool:
        said = list(pool.map(lambda item: judge(program, project, *item), jobs.items()))
    print(*filter(None, said), sep="\n")
    print(f"tidy: {len(jobs)} sources, {sum(map(bool, said))} with findings", file=sys.stderr)
    return 1 if any(said) else 0


if __name__ == "__main__":
    sys.exit(main())
