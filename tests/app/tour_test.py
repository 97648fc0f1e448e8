#!/usr/bin/python3
"""Every README says what really happens: commands after `$ ` are run as printed, in a copy, and their output is compared with what
stands below them.

What varies is masked on both sides: dates, times, rates, sizes of memory, numbers of threads, random seeds, and the seconds at which a
result was found. Exit codes must be those that fit the output. In the output for a run that was stopped or resumed, all counts vary,
too. Warnings and lines of progress are left out, because they depend on the machine. A line `...` stands for any lines, and blanks
between columns stand for any number of blanks.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Iterator, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import Case

PROJECT = Path(__file__).resolve().parent.parent.parent
READMES = sorted(path for pattern in ("README.md", "*/README.md", "src/*/README.md", "src/*/*/README.md", ".github/*.md")
                 for path in PROJECT.glob(pattern) if not path.parts[len(PROJECT.parts)].startswith("build"))
MASKS = [
    (r"\d{4}-\d\d-\d\dT[\d:]+Z", "<date>"),
    (r"\d[\d.,]*( [kMG])?/s\b", "<rate>"),
    (r"\b(start|search|verify|prove|store|idle) \d+\.\d+", r"\1 <time>"),
    (r"\d+(\.\d+)? (CPU s|s|ms|us|min)\b", "<time>"),
    (r"\d+(\.\d+)? [KMG]iB\b", "<size>"),
    (r"\d+ threads?\b", "<threads>"),
    (r"\bseed \d+", "seed <seed>"),
    (r"\d+\.\d\d(?= +([0-9a-f]{16}$|\[\[))", "<time>"),     # before the key or the placement of a result
    (r"[ \t]+", " "),
]
# Made by a user or by the program.
NOT_THERE_YET = {"perf/out", "perf/out/mugraph.md", "src/problems/words", "include/espalier/problems/words", "tests/problems/words"}
DEPENDS_ON_MACHINE = re.compile(r"^espalier: warning: | nodes/s \| ")
STOPPED = re.compile(r" run, (node|time|result|memory)_limit$")


class Step(NamedTuple):
    command: str
    output: list[str]


def blocks(readme: Path, language: str) -> Iterator[str]:
    for found in re.finditer(rf"^```{language}\n(.*?)^```$", readme.read_text(), re.MULTILINE | re.DOTALL):
        yield found[1]


def steps(readme: Path) -> list[Step]:
    found = []
    for block in blocks(readme, ""):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append(Step(line[2:], []))
            elif found and block.startswith("$ "):
                found[-1].output.append(line)
    return found


def masked(lines: list[str]) -> list[str]:
    varies = False
    out = []
    for line in lines:
        if DEPENDS_ON_MACHINE.search(line):
            continue
        varies = varies or bool(STOPPED.search(line))
        for pattern, word in MASKS:
            line = re.sub(pattern, word, line)
        if varies or "info: resuming" in line:
            line = re.sub(r"\d[\d,]*(\.\d+)?", "<n>", line)
        out.append(line.strip())
    return out


def matches(wanted: list[str], found: list[str]) -> bool:
    """`...` stands for any lines."""
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else re.escape(line) + "\n" for line in wanted)
    return re.fullmatch(pattern, "".join(line + "\n" for line in found)) is not None


def expected_code(lines: list[str]) -> int:
    """Of a command with this output; `echo $?` of a README says more."""
    if any(STOPPED.search(line) for line in lines):
        return harness.RESUMABLE
    return harness.INVALID_INPUT if any(": error: " in line for line in lines) else harness.DONE


class Shell(Case):
    """A copy of what a reader has after the build: the experiments, and the programs on PATH."""

    def setUp(self):
        super().setUp()
        shutil.copytree(PROJECT / "config", self.folder / "config")
        programs = self.folder / ".bin"
        programs.mkdir()
        for name, program in {"espalier": harness.ESPALIER, "mpiexec": harness.MPIEXEC}.items():
            (programs / name).write_text(f'#!/bin/sh\nexec "{shutil.which(program) or program}" "$@"\n')
            (programs / name).chmod(0o755)
        self.path = f"{programs}:{os.environ['PATH']}"

    def bash(self, command: str) -> subprocess.CompletedProcess:
        return subprocess.run(["bash", "-c", command], cwd=self.folder, env=harness.environment({"PATH": self.path}), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=harness.TIMEOUT_S)


class Tour(Shell):
    def walk(self, readme: Path) -> None:
        for step in steps(readme):
            with self.subTest(step.command, readme=str(readme.relative_to(PROJECT))):
                done = self.bash(step.command)
                output = done.stdout.splitlines()

                self.assertEqual(done.returncode, expected_code(step.output), done.stdout)
                self.assertTrue(matches(masked(step.output), masked(output)), "\n".join([f"$ {step.command}", *output]))

    def test_the_tour_of_the_readme_happens_as_printed(self):
        tour = PROJECT / "README.md"
        self.assertGreater(len(steps(tour)), 5)

        self.walk(tour)

        for code in blocks(tour, "python"):
            done = subprocess.run(["/usr/bin/python3", "-c", code], cwd=self.folder, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertLessEqual(len(code.splitlines()), 3, "three lines of h5py are promised")

    def test_so_do_the_commands_of_the_other_readmes(self):
        for readme in READMES:
            if readme != PROJECT / "README.md":
                shutil.rmtree(self.folder / "runs", ignore_errors=True)     # each starts afresh
                self.walk(readme)

    def test_the_run_folder_is_read_by_the_lines_of_its_readme(self):
        self.assertEqual(self.bash("espalier search -q config/uts-t1.yaml").returncode, 0)

        for code in blocks(PROJECT / "src" / "store" / "README.md", "python"):
            done = subprocess.run(["/usr/bin/python3", "-c", code], cwd=self.folder, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("3305118", done.stdout)


class Commands(Shell):
    """`espalier NAME --option` in any README names what there is."""

    def help_of(self, command: str) -> str:
        done = self.bash(f"espalier {command} --help")
        self.assertEqual(done.returncode, 0, f"espalier {command}: {done.stdout}")
        return done.stdout

    def named(self) -> dict[tuple[str, str], set[str]]:
        """(README, command) -> its options."""
        found: dict[tuple[str, str], set[str]] = {}
        for readme in READMES:
            for code in re.findall(r"`([^`\n]*\bespalier (?:[a-z]+|--)[^`\n]*)`", readme.read_text()):
                for command, rest in re.findall(r"\bespalier ([a-z]+)?((?:(?!&&|;|\bespalier ).)*)", code):
                    options = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", rest))
                    found.setdefault((str(readme.relative_to(PROJECT)), command), set()).update(options)
        return found

    def test_every_command_and_option_that_a_readme_names_is_there(self):
        named = self.named()
        self.assertGreater(len(named), 10)
        for (readme, command), options in sorted(named.items()):
            text = self.help_of(command)
            for option in sorted(options):
                with self.subTest(command, option=option, readme=readme):
                    self.assertRegex(text, rf"(?<![\w-]){option}(?![\w-])")

    def test_the_table_of_the_readme_has_every_command(self):
        commands = re.findall(r"^  ([a-z]+) ", self.help_of("").split("Subcommands:")[1], re.MULTILINE)
        self.assertGreater(len(commands), 8)
        table = (PROJECT / "README.md").read_text().split("## Commands")[1].split("\n## ")[0]
        for command in commands:
            with self.subTest(command):
                self.assertRegex(table, rf"`[^`]*\bespalier {command}\b")

    def test_every_file_that_a_readme_links_to_is_there(self):
        for readme in READMES:
            for link in re.findall(r"\]\(([^)#]+)\)", readme.read_text()):
                with self.subTest(link, readme=str(readme.relative_to(PROJECT))):
                    self.assertTrue(link.startswith("https://") or (readme.parent / link).exists())

    def test_every_path_that_a_readme_names_is_there(self):
        for readme in READMES:
            for path in set(re.findall(r"(?<![\w./<-])((?:run|config|tests|perf|src|include|\.github)/[\w./-]*\w)(?![\w<*/])", readme.read_text())):
                with self.subTest(path, readme=str(readme.relative_to(PROJECT))):
                    self.assertTrue((PROJECT / path).exists() or path in NOT_THERE_YET)

    def test_the_scripts_of_the_readmes_have_help(self):
        for script in ("run/quickstart", "run/test", "run/setup"):
            done = subprocess.run([PROJECT / script, "--help"], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr, done.stdout.split()[:2]), (0, "", ["usage:", script]))


class Rule(Case):
    """What the comparison lets pass, and what not."""

    def test_times_vary_and_counts_do_not(self):
        wanted = masked(["a: uts run, complete", "nodes 4,130,071 (38.24 M/s)", "...", "time 108 ms, 0.2 CPU s"])

        self.assertTrue(matches(wanted, masked(["a: uts run, complete", "nodes   4,130,071  (2 k/s)", "x", "y", "time 3.1 s, 4 CPU s"])))
        self.assertFalse(matches(wanted, masked(["a: uts run, complete", "nodes 4,130,072 (38.24 M/s)", "time 108 ms, 0.2 CPU s"])))
        self.assertFalse(matches(wanted, masked(["nodes 4,130,071 (38.24 M/s)", "time 108 ms, 0.2 CPU s"])))
        self.assertFalse(matches(["a"], ["a", "b"]))

    def test_counts_of_a_stopped_run_vary_and_keys_do_not(self):
        self.assertEqual(masked(["r: uts run, time_limit", "nodes 96,218,535 (47 M/s)"])[1], "nodes <n> (<rate>)")
        self.assertNotEqual(masked(["1 36.59 0 0.97 1d1f3fb8cb98aa2e"]), masked(["1 36.59 0 0.97 1d1f3fb8cb98aa2f"]))
        self.assertEqual(masked(["1 36.59 0 0.97 1d1f3fb8cb98aa2e"]), masked(["1 36.59 0 1.02 1d1f3fb8cb98aa2e"]))


if __name__ == "__main__":
    harness.main()
