#!/usr/bin/python3
"""Completions and the manual page, which are made from the command line's own description, in the shells and by the tools that read
them. A shell that is not installed is skipped."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import DONE, USAGE, Case


class Described(Case):
    def options(self, command: str = "") -> set[str]:
        """Of --help, the long and the short ones."""
        text = self.espalier(*command.split(), "--help").stdout
        listed = re.findall(r"^  ((?:-\w,)?--?[\w-]+)", text.split("Options:")[1].split("Subcommands:")[0], re.MULTILINE)
        return {name for names in listed for name in names.split(",")}

    def commands(self) -> list[str]:
        return re.findall(r"^  ([a-z]+) ", self.espalier("--help").stdout.split("Subcommands:")[1], re.MULTILINE)

    def script(self, shell: str) -> Path:
        result = self.espalier("completion", shell)
        self.assertEqual((result.code, result.stderr), (DONE, ""), result.text)
        return self.file(f"espalier.{shell}", result.stdout)

    def answer(self, *command: str, script: str = "") -> list[str]:
        done = subprocess.run(command, input=script, cwd=self.folder, env=harness.environment(), capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout.split("\n")[:-1]

    def setUp(self):
        super().setUp()
        (self.folder / "runs").mkdir()
        self.file("a b.yaml", "")


class Bash(Described):
    def complete(self, *words: str) -> set[str]:
        """What bash offers after these words, of which the last is not finished."""
        quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
        code = (f"source espalier.bash\nCOMP_WORDS=(espalier {quoted})\nCOMP_CWORD={len(words)}\n"
                '"$(complete -p espalier | sed "s/.*-F \\([^ ]*\\) .*/\\1/")"\n'
                'for one in "${COMPREPLY[@]}"; do printf "%s\\n" "$one"; done\n')
        return set(self.answer("bash", "--norc", "--noprofile", "-u", "-c", code))

    def setUp(self):
        super().setUp()
        self.script("bash")

    def test_commands(self):
        self.assertEqual(self.complete(""), set(self.commands()))
        self.assertEqual(self.complete("se"), {"search"})
        self.assertEqual(self.complete("--v"), {"--version"})

    def test_all_options_of_every_command(self):
        for command in self.commands():
            with self.subTest(command):
                self.assertEqual(self.complete(command, "-"), self.options(command))

    def test_values(self):
        self.assertEqual(self.complete("show", "runs", "--format", "s"), {"svg"})
        self.assertEqual(self.complete("show", "--format", "=", "s"), {"svg"})
        self.assertEqual(self.complete("trace", "runs", "--by", "="), {"rank", "thread", "phase", "node"})
        self.assertEqual(self.complete("completion", ""), {"bash", "zsh", "fish"})
        self.assertEqual(self.complete("search", "--threads", ""), set(), "nothing is known about a number")

    def test_files_and_folders(self):
        self.assertEqual(self.complete("search", "a"), {"a b.yaml"})
        self.assertEqual(self.complete("show", "ru"), {"runs"})
        self.assertEqual(self.complete("report", "runs", "-o", "a"), {"a b.yaml"})
        self.assertEqual(self.complete("collectives", "r"), {"runs"})


class Zsh(Described):
    def test_it_is_read_and_names_everything(self):
        zsh = shutil.which("zsh")
        if not zsh:
            self.skipTest("zsh is not installed")
        script = self.script("zsh")

        self.answer(zsh, "-f", "-n", str(script))
        code = f"autoload -Uz compinit && compinit -u -d .dump && source {script} && print -r -- $_comps[espalier]"
        self.assertEqual(self.answer(zsh, "-f", "-c", code), ["_espalier"])

    def test_every_option_is_in_it(self):
        text = self.script("zsh").read_text()

        for command in self.commands():
            section = text.split(f"            {command}) _arguments")[1].split(";;\n")[0]
            for option in self.options(command):
                with self.subTest(command, option=option):
                    self.assertRegex(section, rf"[)*]{option}\[")


class Fish(Described):
    def test_it_completes(self):
        fish = shutil.which("fish")
        if not fish:
            self.skipTest("fish is not installed")
        script = self.script("fish")

        def complete(line: str) -> set[str]:
            return {one.split("\t")[0] for one in self.answer(fish, "--no-config", "-c", f"source {script}; complete -C '{line}'")}

        self.assertLessEqual(set(self.commands()), complete("espalier "))
        self.assertEqual(complete("espalier show runs --format s"), {"svg"})
        self.assertLessEqual({"--max-time", "--max-nodes"}, complete("espalier search --max"))

    def test_every_option_is_in_it(self):
        text = self.script("fish").read_text()

        for command in self.commands():
            lines = [line for line in text.splitlines() if f"from {command}'" in line]
            for option in self.options(command):
                with self.subTest(command, option=option):
                    flag = f" -l {option[2:]} " if option.startswith("--") else f" -s {option[1:]} "
                    self.assertTrue(any(flag in line for line in lines), lines)


class Manual(Described):
    def setUp(self):
        super().setUp()
        self.page = self.file("espalier.1", self.espalier("man").stdout)

    def rendered(self) -> str:
        groff = shutil.which("groff") or self.skipTest("groff is not installed")
        done = subprocess.run([groff, "-man", "-Tascii", "-ww", "-P-c", "-P-b", "-P-u", "-rLL=200n", str(self.page)], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_it_renders_without_warnings_and_has_every_command_and_option(self):
        text = self.rendered()

        for section in ("NAME", "SYNOPSIS", "OPTIONS", "COMMANDS", "EXIT STATUS"):
            self.assertRegex(text, rf"(?m)^{section}$")
        for command in self.commands():
            body = re.split(r"(?m)^   (?=[a-z])", text.split("\nCOMMANDS\n")[1])
            section = next((part for part in body if part.startswith(command + " ")), "")
            for option in self.options(command):
                with self.subTest(command, option=option):
                    self.assertRegex(section, rf"(?m)^ +(-\w, )?{option}\b|^ +{option},")

    def test_the_program_man_reads_it(self):
        man = shutil.which("man") or self.skipTest("man is not installed")
        done = subprocess.run([man, "--warnings", "-l", str(self.page)], capture_output=True, text=True,
                              env=harness.environment({"MANWIDTH": "100", "LC_ALL": "C.UTF-8", "MANPAGER": "cat"}))

        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("EXIT STATUS", re.sub(".\x08", "", done.stdout))

    def test_the_exit_codes_are_those_of_help(self):
        codes = self.espalier("--help").stdout.split("Exit codes: ")[1].split()

        self.assertEqual(self.rendered().split("Exit codes: ")[1].split()[:len(codes)], codes)


class Refused(Described):
    def test_a_shell_that_is_not_known(self):
        self.expect_refused(self.espalier("completion", "tcsh"), "tcsh", code=USAGE)
        self.expect_refused(self.espalier("completion"), "shell", code=USAGE)


if __name__ == "__main__":
    harness.main()
