#!/usr/bin/python3
"""The same set of programs, costs and verdicts for every number of ranks and threads, and however often a search is stopped."""

import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import DONE, RESUMABLE, Case

SHAPES = [(ranks, threads) for ranks in (1, 2, 3, 4) for threads in (1, 2)]
MIRAGE = ("builtin: gated_mlp, tokens: 8, hidden: 4096, out: 4096", "mirage")
FULL = ("builtin: rmsnorm_linear, tokens: 4, hidden: 96, out: 80", "full")
LONG = ("builtin: gated_mlp, tokens: 8, hidden: 512, out: 512", "{from: full, max_kernel_ops: 2}")     # some seconds


class Answers(Case):
    def reference(self, problem: tuple) -> Path:
        """The experiment; its answer on one thread in `expected`, its counts in `counts`."""
        yaml = self.superoptimization(*problem)
        self.counts = self.completed(yaml, "--results", "reference")
        self.expected = self.answer("reference")
        self.assertTrue(self.expected)
        return yaml

    def completed(self, yaml: Path, *arguments, **shape) -> dict:
        result = self.finished(self.search(yaml, "--quiet", *arguments, **shape))
        self.assertEqual((result.code, result.json["stop_reason"]), (DONE, "complete"), result.text)
        return result.json

    def expect_same(self, summary: dict) -> None:
        self.assertEqual(self.answer(), self.expected)
        for key in ("states", "candidates_examined", "algebraic_forms"):
            self.assertEqual(summary["mugraph"][key], self.counts["mugraph"][key], key)


class SameAnswer(Answers):
    def everywhere(self, problem: tuple) -> None:
        yaml = self.reference(problem)
        for ranks, threads in SHAPES:
            with self.subTest(ranks=ranks, threads=threads):
                self.expect_same(self.completed(yaml, "--force", ranks=ranks, threads=threads))

    def test_a_gated_mlp_in_the_space_of_mirage(self):
        self.everywhere(MIRAGE)

    def test_rmsnorm_linear_in_the_full_space(self):
        self.everywhere(FULL)

    def test_small_budgets_make_many_messages_and_the_same_answer(self):
        yaml = self.reference(FULL)

        self.expect_same(self.completed(yaml, "--set", "cluster.budget=1ms", "--set", "cluster.commit=50ms", ranks=3))

    def test_another_seed_draws_other_inputs_and_finds_the_same(self):
        yaml = self.reference(FULL)

        self.expect_same(self.completed(yaml, "--seed", "7"))


# Each run takes moments, but on a machine with twenty others 40 s were seen: a class of its own for each test keeps all of its
# runs together within CTest's limit.
class StoppedAnswers(Answers):
    def stopped_at_least(self, wanted: int, yaml: Path, shapes: list[tuple[int, int]]) -> None:
        """The same answer after that many stops, on these shapes in turn. The thread that keeps the limit may have to wait
        for a core while others go on: a search that is over too early is made again with a smaller limit."""
        for limit in (4000, 1000, 250, 60):
            stops = 0
            while (result := self.limited(yaml, limit, shapes[stops % len(shapes)], is_first=stops == 0)).code == RESUMABLE:
                stops += 1
                self.assertLessEqual(stops, self.counts["nodes"] // limit, "each of them does that much")
            self.assertEqual(result.code, DONE, result.text)
            self.expect_same(result.json)
            if stops >= wanted:
                return
        self.fail(result.text)

    def limited(self, yaml: Path, limit: int, shape: tuple[int, int], *, is_first: bool) -> harness.Result:
        ranks, threads = shape
        return self.finished(self.search(yaml, "--quiet", "--max-nodes", limit, "--set", "cluster.budget=1ms", *["--force"] * is_first,
                                         ranks=ranks, threads=threads))


class Stopped(StoppedAnswers):
    def test_after_many_stops_at_a_node_limit(self):
        self.stopped_at_least(3, self.reference(FULL), [(1, 1)])


class StoppedElsewhere(StoppedAnswers):
    def test_after_stops_on_other_numbers_of_ranks_and_threads(self):
        self.stopped_at_least(3, self.reference(FULL), [(2, 1), (1, 2), (3, 1)])


class Disturbed(Answers):
    def test_after_sigterm_in_the_middle(self):
        yaml = self.reference(LONG)
        with harness.one_core():
            job = self.search(yaml, "--set", "cluster.budget=20ms", ranks=2, isolated=True)
        job.until_searching()

        job.signal(signal.SIGTERM)
        job.wait()      # with a code of mpiexec's own

        self.assertLess(self.expect_stopped("signal")["nodes"], self.counts["nodes"])
        self.expect_same(self.completed(yaml, threads=2))

    def test_after_kill_9_of_everything(self):
        yaml = self.reference(LONG)
        with harness.one_core():
            job = self.search(yaml, "--set", "cluster.budget=20ms", "--set", "cluster.checkpoint=100ms", "--set", "cluster.commit=20ms", ranks=2)
        job.until(lambda: self.has_checkpoint() and self.nodes_on_disk() > 0, "a checkpoint")

        job.kill_everything()

        self.assertLess(self.expect_stopped("interrupted")["nodes"], self.counts["nodes"])
        self.expect_same(self.completed(yaml, threads=2))


if __name__ == "__main__":
    harness.main()
