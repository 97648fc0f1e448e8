#!/usr/bin/python3
"""Bad input: one clear message with position and remedy on stderr, exit code 3 (usage: 2), and no run folder is made."""

import os
import shutil
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


class BadFile(Case):
    def refused(self, name: str, *words: str) -> None:
        for command in ("search", "check"):
            self.expect_refused(self.espalier(command, name), name, *words)

    def test_a_file_that_is_missing(self):
        self.refused("nowhere.yaml", "No such file", "check the path")

    def test_a_folder_instead_of_a_file(self):
        (self.folder / "folder.yaml").mkdir()

        self.refused("folder.yaml", "is a folder", "name a YAML file")

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


if __name__ == "__main__":
    harness.main()
