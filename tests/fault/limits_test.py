#!/usr/bin/python3
"""Limits stop a run cleanly: exit code 85, the reason in the summary, and the same command goes on to the exact counts."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import GRANULARITY, RESUMABLE, Case


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
        experiment = self.experiment("T1", granularity=GRANULARITY)

        first = self.stopped(experiment, "time_limit", "--max-time", "700ms")
        second = self.stopped(experiment, "time_limit", "--set", "search.max_time=700ms", ranks=2, threads=1)

        self.assertLess(first["nodes"], second["nodes"])
        self.finish(experiment, "T1", ranks=3, threads=1)

    def test_the_node_limit_counts_for_each_execution(self):
        experiment = self.experiment("T3", granularity=5)

        first = self.stopped(experiment, "node_limit", "--max-nodes", "1000000", ranks=2, threads=1)
        second = self.stopped(experiment, "node_limit", "--max-nodes", "1000000")

        self.assertGreaterEqual(first["nodes"], 1000000)
        self.assertGreaterEqual(second["nodes"], first["nodes"] + 1000000)
        self.finish(experiment, "T3")

    def test_the_memory_limit_stops_and_a_larger_one_goes_on(self):
        experiment = self.experiment("T3", granularity=GRANULARITY)

        stopped = self.stopped(experiment, "memory_limit", "--set", "search.memory=16MiB")

        self.assertLess(stopped["nodes"], harness.PUBLISHED["T3"].nodes)
        self.finish(experiment, "T3", "--set", "search.memory=4GiB")

    def test_the_memory_limit_of_one_rank_stops_all(self):
        experiment = self.experiment("T1", granularity=GRANULARITY)

        result = self.finished(self.search(experiment, "--set", "search.memory=16MiB", ranks=3, threads=1))

        self.assertEqual(result.code, RESUMABLE, result.text)
        self.assertIn("search.memory", result.stderr)
        self.expect_stopped("memory_limit")
        self.finish(experiment, "T1", ranks=2, threads=1)


if __name__ == "__main__":
    harness.main()
