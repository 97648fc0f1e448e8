#!/usr/bin/python3
"""Bad input: one clear message with position and remedy on stderr, exit code 3 (usage: 2), and no run folder is made."""

import os
import select
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import ESPALIER, INVALID_INPUT, USAGE, Case

UTS = "problem: {kind: uts, tree: T1}\n"
RUN = "results: {path: run}\n"


class BadExperiment(Case):
    def refused(self, content: str, *words: str) -> None:
        """The experiment is refused by `search` and by `check`, with the same words."""
        self.file("bad.yaml", content)
        for command in ("search", "check"):
            result = self.espalier(command, "bad.yaml")
            self.expect_refused(result, *words)
            self.assertFalse((self.folder / "run").exists(), result.text)

    def test_an_unknown_key_is_named_with_position_and_suggestion(self):
        self.refused(UTS + "search: {thread: 2}\n" + RUN, "bad.yaml:2:10:", "'thread'", "did you mean 'threads'?", "search: {thread: 2}\n         ^")

    def test_an_unknown_section_is_named_with_position_and_suggestion(self):
        self.refused(UTS + "serch: {threads: 2}\n" + RUN, "bad.yaml:2:1:", "'serch'", "did you mean 'search'?")

    def test_a_wrong_type_says_what_is_wanted(self):
        self.refused(UTS + "search: {threads: many}\n" + RUN, "bad.yaml:2:19:", "'search.threads'", "whole number", "not 'many'")
        self.refused(UTS + "search: {max_time: [1]}\n" + RUN, "bad.yaml:2:20:", "'search.max_time'", "a time", "not a list")
        self.refused(UTS + "trace: yes\n" + RUN, "bad.yaml:2:8:", "'trace'")

    def test_an_impossible_value_says_what_is_possible(self):
        self.refused(UTS + "search: {memory: 200%}\n" + RUN, "bad.yaml:2:18:", "'search.memory'", "100%")
        self.refused("problem: {kind: uts, tree: {type: geometric, shape: fixed, b: -4, depth: 10}}\n" + RUN, "bad.yaml:1:63:", "'problem.tree.b'", "-4")
        self.refused("problem: {kind: uts, tree: {type: binomial, b: 10, q: 0.5, m: 8}}\n" + RUN, "bad.yaml:1:", "q")
        self.refused(UTS + "cluster: {policy: fastest}\n" + RUN, "bad.yaml:2:19:", "static", "omp-dynamic", "hybrid")

    def test_no_threads_at_all(self):
        self.refused(UTS + "search: {threads: 0}\n" + RUN, "bad.yaml:2:19:", "'search.threads' = 0", "from 1 to")

    def test_a_tree_that_does_not_exist(self):
        self.refused("problem: {kind: uts, tree: T9}\n" + RUN, "bad.yaml:1:28:", "T1, T2, T3, T4, T5, T1L, T3L", "not 'T9'")

    def test_a_problem_that_does_not_exist(self):
        self.refused("problem: {kind: chess}\n" + RUN, "bad.yaml:1:", "chess", "uts")

    def test_a_duplicate_key(self):
        self.refused(UTS + UTS + RUN, "bad.yaml:2:1:", "duplicate key 'problem'", "1:1")

    def test_missing_keys(self):
        self.refused(RUN, "problem")
        self.refused(UTS, "results")

    def test_what_is_no_experiment_at_all(self):
        self.refused("", "bad.yaml:1:1:", "empty")
        self.refused("problem: {kind: uts, tree: [T1\n", "bad.yaml:", "not valid YAML")
        self.refused("just words\n", "bad.yaml:1:1:")
        self.refused("\0\1\2\n", "bad.yaml:1:1:", "not text")

    def test_all_errors_are_shown_at_once_and_in_the_order_of_the_file(self):
        self.file("bad.yaml", "problem: {kind: uts, tree: T9}\nsearch: {threads: 0, sead: 3}\n" + RUN)

        result = self.espalier("search", "bad.yaml", "--set", "trace.limit=much")

        self.expect_refused(result, "T9", "threads", "did you mean 'seed'?", "--set trace.limit=much")
        self.assertEqual(result.stderr.count("error: "), 4, result.text)
        self.assertLess(result.stderr.index("bad.yaml:1:"), result.stderr.index("bad.yaml:2:"))

    def test_under_mpi_rank_0_alone_says_it(self):
        bad = self.file("bad.yaml", UTS + "search: {threads: 0}\n" + RUN)

        result = self.finished(self.search(bad, "--set", "search.seed=x", ranks=3))

        self.assertEqual(result.code, INVALID_INPUT, result.text)
        self.assertEqual(result.stderr.count("search.seed=x"), 1, result.text)
        self.assertFalse((self.folder / "run").exists())


class Unread(Case):
    """A key that a problem never reads is refused where it stands, and so never makes a run unlike itself."""

    PLACEMENT = "problem: {kind: placement, hierarchy: [{name: node, size: 1}]}\n"

    def test_a_key_that_the_problem_never_reads(self):
        self.file("e.yaml", self.PLACEMENT + RUN)
        self.file("f.yaml", self.PLACEMENT + "verify: {tests: 5}\n" + RUN)
        self.file("uts.yaml", UTS + "search: {best_only: true}\n" + RUN)

        self.expect_refused(self.espalier("search", "e.yaml", "--set", "verify.tests=5"), "--set verify.tests=5", "'verify.tests' has no meaning here", "placement")
        self.expect_refused(self.espalier("check", "f.yaml"), "f.yaml:2:10:", "'verify.tests' has no meaning here")
        self.expect_refused(self.espalier("check", "uts.yaml"), "uts.yaml:2:10:", "'search.best_only' has no meaning here")
        self.assertFalse((self.folder / "run").exists())


class BadFile(Case):
    def refused(self, name: str, *words: str) -> None:
        for command in ("search", "check"):
            self.expect_refused(self.espalier(command, name), name, *words)

    def test_a_file_that_is_missing(self):
        self.refused("nowhere.yaml", "No such file", "check the path")

    def test_a_folder_instead_of_a_file(self):
        (self.folder / "folder.yaml").mkdir()

        self.refused("folder.yaml", "is a folder", "name a YAML file")

    def test_what_is_no_plain_file(self):
        os.mkfifo(self.folder / "pipe.yaml")

        self.refused("pipe.yaml", "is a pipe", "name a plain YAML file")
        self.refused("/dev/zero", "larger than 16 MiB")
        self.refused("/dev/null", "empty")

    def test_a_file_that_is_too_large(self):
        with open(self.folder / "huge.yaml", "wb") as file:
            file.truncate(17 << 20)

        self.refused("huge.yaml", "larger than 16 MiB")

    def test_a_million_keys_or_levels_are_refused_at_once(self):
        """Each took minutes, or all of the stack."""
        for text in ("".join(f"k{i}: 1\n" for i in range(1_000_000)), "[" * 1_000_000, "{a: " * 1_000_000, "- " * 1_000_000,
                     "a: &a [x, x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1 if i else ''}, *a{i - 1 if i else ''}]\n" for i in range(40)),
                     "problem: {" + ", ".join(f"k{i}: 1" for i in range(15_000)) + "}\n"):
            with self.subTest(text[:20]):
                self.file("large.yaml", text)
                for command in ("search", "check"):
                    result = self.espalier(command, "large.yaml")
                    self.expect_refused(result, "large.yaml:")
                    self.assertLess(len(result.stderr), 50_000)

    def test_an_experiment_that_is_binary(self):
        (self.folder / "binary.yaml").write_bytes(bytes(range(256)))

        self.refused("binary.yaml", "binary.yaml:1:1:", "not text")

    def test_a_file_that_may_not_be_read(self):
        self.experiment(name="secret.yaml").chmod(0)

        for command in ("search", "check"):
            self.expect_refused(self.unprivileged(command, "secret.yaml"), "secret.yaml", "Permission denied")

    def test_a_run_folder_that_may_not_be_made(self):
        self.experiment()
        self.folder.chmod(0o555)
        self.addCleanup(self.folder.chmod, 0o755)

        self.expect_refused(self.unprivileged("search", "experiment.yaml"), "run:", "Permission denied", "results.path")

    def unprivileged(self, *arguments) -> harness.Result:
        """Root may read everything, so root runs the program as nobody."""
        if os.geteuid() != 0:
            return self.espalier(*arguments)
        as_nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]
        self.folder.chmod(0o755)
        if not shutil.which("setpriv") or self.finished(self.start(*as_nobody, ESPALIER, "--version")).code != 0:
            self.skipTest("root cannot run the program as another user here")
        return self.finished(self.start(*as_nobody, ESPALIER, *arguments))


class BadUsage(Case):
    def refused(self, *arguments, words: tuple = ()) -> None:
        result = self.espalier(*arguments)

        self.expect_refused(result, *words, code=USAGE)
        self.assertNotEqual(result.stderr, "", arguments)

    def test_usage_errors_exit_2_and_write_to_stderr(self):
        self.refused(words=("Usage:",))
        self.refused("bogus", words=("bogus",))
        self.refused("search", words=("experiment", "--help"))
        self.refused("search", "a.yaml", "--nope", words=("--nope",))
        self.refused("search", "a.yaml", "b.yaml", words=("b.yaml",))
        self.refused("search", "a.yaml", "--set", words=("--set",))
        self.refused("search", "a.yaml", "--color", "blue", words=("--color", "blue"))
        self.refused("check")
        self.refused("show")
        self.refused("show", "a", "b", words=("b",))

    def test_flags_out_of_range_and_hostile_names(self):
        """One table: what is called, with which code it is refused, and what is said; never the words of a library."""
        self.experiment()
        self.file("plain", "x")
        (self.folder / "empty").mkdir()
        long = "x" * 5000
        for arguments, code, words in ((("show", "nowhere"), 3, ("nowhere: not a run folder",)),
                                       (("show", "plain"), 3, ("plain: not a run folder",)),
                                       (("show", "empty"), 3, ("no run.h5",)),
                                       (("show", ""), 3, ("not a run folder",)),
                                       (("show", long), 3, ("File name too long", "check the path")),
                                       (("show", "plain/run"), 3, ("plain/run",)),
                                       (("show", "empty", "--top", "-1"), 2, ("--top",)),
                                       (("show", "empty", "--top", "99999999999999999999"), 2, ("--top",)),
                                       (("show", "empty", "--program", "0"), 2, ("--program",)),
                                       (("show", "empty", "--program", "1", "--format", "png"), 2, ("--format", "png")),
                                       (("show", "empty", "--format", "svg"), 2, ("--program",)),
                                       (("trace", "empty", "--top", "-1"), 2, ("--top",)),
                                       (("trace", "empty", "--execution", "0"), 2, ("--execution",)),
                                       (("trace", "empty", "--by", "moon"), 2, ("moon",)),
                                       (("trace",), 2, ("name one run folder",)),
                                       (("trace", long), 3, ("File name too long",)),
                                       (("verify", "empty", "--seed", "-1"), 2, ("--seed",)),
                                       (("verify", long), 3, ("File name too long",)),
                                       (("simulate", "empty", "--threads", "0"), 2, ("--threads",)),
                                       (("simulate", "empty", "--nodes", "0"), 3, ("--nodes 0",)),
                                       (("simulate", "empty", "--work", "xnan"), 3, ("--work",)),
                                       (("report", "empty", "--top", "-1"), 2, ("--top",)),
                                       (("report", long), 3, ("File name too long",)),
                                       (("collectives", "empty", "--repeats", "-1"), 2, ("--repeats",)),
                                       (("collectives", "empty", "--top", "-1"), 2, ("--top",)),
                                       (("simulate", "empty", "--seed", "-1"), 2, ("--seed",)),
                                       (("collectives", "empty", "--size", "0"), 3, ("--size",)),
                                       (("check",), 2, ("files",)),
                                       (("check", ""), 3, ("No such file",)),
                                       (("check", long), 3, ("File name too long",)),
                                       (("check", "no\nsuch"), 3, ("No such file",)),
                                       (("search", ""), 3, ("No such file",)),
                                       (("search", "experiment.yaml", "--results", ""), 3, ("--results ''", "'results.path' must be a non-empty text")),
                                       (("search", "experiment.yaml", "--results", "plain"), 3, ("plain: exists and is not a folder",)),
                                       (("search", "experiment.yaml", "--results", "plain/run"), 3, ("plain/run",)),
                                       (("search", "experiment.yaml", "--results", long), 3, ("File name too long", "check the path")),
                                       (("search", "experiment.yaml", "--results", "/proc/run"), 3, ("/proc/run: cannot make the run folder",)),
                                       (("search", "experiment.yaml", "--results", "\udcff\udcfe"), 3, ("not UTF-8", "\\xff\\xfe")),
                                       (("search", "experiment.yaml", "--max-time", ""), 3, ("--max-time ''",)),
                                       (("search", "experiment.yaml", "--threads", "1 # one"), 3, ("--threads 1 # one",)),
                                       (("search", "experiment.yaml", "--threads", "99999999999999999999"), 3, ("out of range",)),
                                       (("search", "experiment.yaml", "--seed", "-1"), 3, ("--seed -1",)),
                                       (("search", "experiment.yaml", "--max-nodes", "1.5"), 3, ("--max-nodes 1.5",)),
                                       (("search", "experiment.yaml", "--set", "results.path=a #2"), 3, ("YAML reads only 'a' of it",)),
                                       (("search", "\udcff.yaml"), 3, ("\\xff.yaml: cannot be read",)),
                                       (("check", "--json", "--", "\udcff.yaml"), 3, ())):
            with self.subTest(arguments):
                result = self.finished(self.start(ESPALIER, *arguments))
                self.assertEqual(result.code, code, result.text)
                for word in words:
                    self.assertIn(word, result.stderr, result.text)
                for raw in ("filesystem error", "std::", "basic_", "what():", "json.exception", "stoi", "\x1b"):
                    self.assertNotIn(raw, result.stderr + result.stdout, result.text)
        self.assertFalse((self.folder / "run").exists())

    def test_a_bad_override_is_named_as_it_was_written(self):
        self.experiment()
        for arguments, words in {("--set", "threads"): ("--set threads", "key=value"),
                                 ("--set", "search.thread=2"): ("--set search.thread=2", "did you mean 'threads'?"),
                                 ("--threads", "0"): ("--threads 0", "from 1 to"),
                                 ("--max-time", "soon"): ("--max-time soon", "a time"),
                                 ("--max-nodes", "-1"): ("--max-nodes -1",),
                                 ("--seed", "dice"): ("--seed dice",)}.items():
            with self.subTest(arguments):
                self.expect_refused(self.espalier("search", "experiment.yaml", *arguments), *words)
        self.assertFalse((self.folder / "run").exists())



class Literal(Case):
    """What a flag says is a name, whatever YAML would make of it."""

    NAMES = ("a #2", "~", "!tag", "{}", "a: b", "[x, y]", "'q' \"q\"", "new\nline", "*x", "&x", "- a", " b ")

    def test_every_name_is_the_folder_that_is_made(self):
        self.file("e.yaml", "problem: {kind: uts, tree: {type: balanced, b: 2, depth: 3}}\n" + RUN)
        before = {entry.name for entry in self.folder.iterdir()}
        for name in self.NAMES:
            with self.subTest(name):
                result = self.espalier("search", "e.yaml", f"--results={name}", "--threads", "1", "--quiet")
                self.assertEqual(result.code, 0, result.text)
                self.assertTrue((self.folder / name / "run.h5").exists(), result.text)
                self.assertEqual(self.status(name), (0, "complete"))
        self.assertEqual({entry.name for entry in self.folder.iterdir()} - before, set(self.NAMES))

    def test_force_never_replaces_another_run(self):
        self.file("e.yaml", "problem: {kind: uts, tree: {type: balanced, b: 2, depth: 3}}\n" + RUN)
        self.espalier("search", "e.yaml", "--results", "runs/a")
        before = (self.folder / "runs" / "a" / "run.h5").read_bytes()

        self.espalier("search", "e.yaml", "--results", "runs/a #2", "--force")

        self.assertEqual((self.folder / "runs" / "a" / "run.h5").read_bytes(), before)

    NAMES = ("[a]", "[a,b]", "[]", "{}", "%%", "%", "a,b", "@a", "[a]\x1f", "$a", "[a")

    def test_names_of_files_are_what_they_are_for_every_command(self):
        self.file("a", "problem: {kind: uts, tree: {type: balanced, b: 2, depth: 3}}\n" + RUN)      # which nobody names
        for name in self.NAMES:
            for command in (("check",), ("search",), ("show",), ("verify",), ("trace",), ("report",), ("simulate",), ("collectives",)):
                with self.subTest(name, command=command):
                    result = self.espalier(*command, name)
                    self.assertEqual(result.code, 3, result.text)
                    self.assertIn(name.replace("\x1f", ""), result.stderr)
                    self.assertNotIn("\x1f", result.stderr)

    def test_files_with_such_names_are_read_and_several_too(self):
        names = [name for name in self.NAMES if name != "[a"]
        for name in names:
            self.file(name, "problem: {kind: uts, tree: {type: balanced, b: 2, depth: 3}}\n" + RUN)

        found = self.espalier("check", *names, "--json").json

        self.assertEqual([(one["file"], one["ok"]) for one in found], [(name, True) for name in names])

    def test_values_of_flags_are_what_they_are(self):
        self.file("e.yaml", "problem: {kind: uts, tree: {type: balanced, b: 2, depth: 3}}\n" + RUN)
        for name in ("[x]", "{}", "%%", "x,y"):
            with self.subTest(name):
                self.assertEqual(self.espalier("search", "e.yaml", "--quiet", f"--results={name}").code, 0)
                self.assertEqual(self.espalier("show", name, "--status").code, 0)
        self.assertEqual(self.espalier("trace", "--compare", "[x]", "{}").code, 0)
        for flag in ("--set", "--max-time", "--threads", "--color"):
            with self.subTest(flag):
                self.assertIn("[search.threads=1,search.seed=2]", self.espalier("search", "e.yaml", flag, "[search.threads=1,search.seed=2]").stderr)


class Pages(Case):
    def test_a_page_about_an_execution_that_never_was_replaces_nothing(self):
        self.file("e.yaml", "problem: {kind: uts, tree: {type: balanced, b: 2, depth: 3}}\n" + RUN)
        self.espalier("search", "e.yaml", "--quiet")
        self.assertEqual(self.espalier("report", "run", "--nodes", "none").code, 0)
        before = (self.folder / "run" / "report.html").read_bytes()

        result = self.espalier("report", "run", "--execution", "4")

        self.expect_refused(result, "run: there is no execution 4; the run has 1")
        self.assertEqual((self.folder / "run" / "report.html").read_bytes(), before)


class Printable(Case):
    """Nothing from a file or a name reaches a terminal unfiltered."""

    ESCAPE = "\x1b[31m\x9b2J\u202e\x07"

    def on_terminal(self, *arguments) -> str:
        """What a terminal would get, from stdout and stderr."""
        main, side = os.openpty()
        os.set_blocking(main, False)
        process = subprocess.Popen([ESPALIER, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=side, stderr=side, env=harness.environment({"NO_COLOR": "1"}))
        data = b""
        try:
            while process.poll() is None or select.select([main], [], [], 0)[0]:
                if select.select([main], [], [], 0.1)[0]:
                    data += os.read(main, 65536)
        finally:
            process.kill()
            process.wait()
            os.close(side)
            os.close(main)
        return data.decode(errors="replace")

    def expect_harmless(self, text: str) -> None:
        self.assertNotRegex(text, "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\ufffd]", repr(text))

    def test_texts_of_experiments(self):
        self.file("e.yaml", f"problem: {{kind: uts, tree: T1, 'a{self.ESCAPE[3:]}': 1}}\nresults: {{path: run}}\n")
        self.file("f.yaml", 'problem: {kind: uts, "tr\\e[31mee": 1}\nresults: {path: run}\n')
        for name in ("e.yaml", "f.yaml"):
            self.expect_harmless(self.on_terminal("check", name))
            self.expect_harmless(self.espalier("search", name).stderr)
        self.assertIn("\\x1b[31m", self.on_terminal("check", "f.yaml"))

    def test_names(self):
        self.file("e.yaml", "problem: {kind: uts, tree: {type: balanced, b: 2, depth: 3}}\n" + RUN)
        self.expect_harmless(self.on_terminal("check", f"no{self.ESCAPE}.yaml"))
        self.expect_harmless(self.on_terminal("show", f"no{self.ESCAPE}"))
        self.expect_harmless(self.on_terminal("bogus", f"no{self.ESCAPE}"))
        self.expect_harmless(self.on_terminal("search", "e.yaml", "--set", f"no{self.ESCAPE}"))
        self.espalier("search", "e.yaml", f"--results=run{self.ESCAPE}", "--quiet")
        for arguments in (("show",), ("show", "--json"), ("trace",), ("trace", "--by", "rank", "--format", "csv"), ("report",), ("search", "e.yaml", "--dry-run")):
            path = f"--results=run{self.ESCAPE}" if arguments[0] == "search" else f"run{self.ESCAPE}"
            self.expect_harmless(self.on_terminal(*arguments, path))


class Limits(Case):
    def test_more_threads_than_memory_has_room_for(self):
        self.experiment()
        command = f"ulimit -v 3000000; exec {ESPALIER} search experiment.yaml --threads 1000 --quiet"

        result = self.finished(self.start("bash", "-c", command))

        self.assertEqual(result.code, 1, result.text)
        self.assertIn("search.threads needs 1001", result.stderr, result.text)
        self.assertNotIn("libgomp", result.stderr, result.text)


if __name__ == "__main__":
    harness.main()
