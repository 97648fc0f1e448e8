#!/usr/bin/python3
"""Limits stop a run cleanly: exit code 85, the reason in the summary, and the same command continues to the exact counts."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import DONE, GRANULARITY, RESUMABLE, Case

# The program takes about 30 MiB, the 400,000 children of the root another 40.
WIDE = """problem: {kind: uts, tree: {type: binomial, b: 400000, q: 0.1, m: 8, seed: 3}, granularity: 40}
results: {path: run}
"""


class Limits(Case):
    def stopped(self, experiment: Path, word: str, *arguments, ranks: int = 1, threads: int = 2) -> dict:
        """The summary of a search that a limit stopped. Without a signal mpiexec's own exit code can be trusted."""
        result = self.finished(self.search(experiment, *arguments, ranks=ranks, threads=threads))
        self.assertEqual(result.code, RESUMABLE, result.text)
        self.assertEqual((result.json["stop_reason"], result.json["exit_code"]), (word, RESUMABLE), result.text)
        self.expect_stopped(word)
        return result.json

    def finish(self, experiment: Path, tree: str, *arguments, ranks: int = 1, threads: int = 2) -> dict:
        job = self.search(experiment, *arguments, ranks=ranks, threads=threads)
        self.assertEqual(job.wait(), 0, job.describe())
        return self.expect_complete(tree, job)

    def test_the_time_limit_counts_for_each_execution(self):
        experiment = self.experiment("T1", granularity=2 * GRANULARITY)   # five times what the limits below leave time for

        first = self.stopped(experiment, "time_limit", "--max-time", "300ms")
        for _ in range(10):     # on a machine that is busy this may not suffice for a single commit
            second = self.stopped(experiment, "time_limit", "--set", "search.max_time=300ms", ranks=2, threads=1)
            if second["nodes"] > first["nodes"]:
                break

        self.assertLess(first["nodes"], second["nodes"])
        self.finish(experiment, "T1", ranks=3, threads=1)

    def test_the_node_limit_counts_for_each_execution(self):
        experiment = self.stoppable("T3")

        first = self.stopped(experiment, "node_limit", *harness.STOP_EARLY, ranks=2, threads=1)
        second = self.stopped(experiment, "node_limit", *harness.STOP_EARLY)

        self.assertGreaterEqual(first["nodes"], 100000)
        self.assertGreaterEqual(second["nodes"], first["nodes"] + 100000)
        self.finish(experiment, "T3")

    def test_a_tree_that_needs_more_memory_than_allowed_stops_and_goes_on_with_more(self):
        wide = self.file("wide.yaml", WIDE)
        whole = self.finished(self.search(wide, "--results", "whole", threads=2)).json
        self.assertGreater(whole["peak_rss_bytes"], 60 << 20, "it does need more than the limit below")

        stopped = self.stopped(wide, "memory_limit", "--set", "search.memory=40MiB")

        self.assertLess(stopped["nodes"], whole["nodes"])
        again = self.finished(self.search(wide, "--set", "search.memory=4GiB", threads=2))
        self.assertEqual((again.code, again.json["stop_reason"]), (DONE, "complete"), again.text)
        self.assertEqual((again.json["uts"], again.json["funnel"]), (whole["uts"], whole["funnel"]))

    def test_the_memory_limit_of_one_rank_stops_all(self):
        experiment = self.experiment("T1", granularity=GRANULARITY // 2)

        result = self.finished(self.search(experiment, "--set", "search.memory=16MiB", ranks=3, threads=1))

        self.assertEqual(result.code, RESUMABLE, result.text)
        self.assertIn("search.memory", result.stderr)
        self.expect_stopped("memory_limit")
        self.finish(experiment, "T1", ranks=2, threads=1)


if __name__ == "__main__":
    harness.main()
