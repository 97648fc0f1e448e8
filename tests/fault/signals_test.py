#!/usr/bin/python3
"""Signals: TERM and INT stop a run so that it can be resumed, USR1 writes a checkpoint, KILL costs what came after the last one."""

import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import GRANULARITY, RESUMABLE, Case

SHAPES = [(3, 1), (1, 2), (2, 2), (4, 1), (2, 1)]      # ranks x threads, another one at every resume


class Stop(Case):
    def chain(self, tree: str, signals: list[signal.Signals]) -> None:
        """Stops a run again and again, each time with other ranks and threads, then lets it finish."""
        experiment = self.experiment(tree, granularity=3 * GRANULARITY)
        done = -1
        for number, (ranks, threads) in zip(signals, SHAPES):
            job = self.search(experiment, *harness.SHORT_LEASE, ranks=ranks, threads=threads, isolated=True)
            job.until_searching(beyond=max(done, 0))

            job.signal(number)
            job.wait()

            nodes = self.expect_stopped("signal", context=job.describe())["nodes"]
            self.assertGreater(nodes, done, "a resume continues from where it was")
            done = nodes
        self.assertLess(done, harness.PUBLISHED[tree].nodes)

        last = self.search(experiment, ranks=2, threads=1)
        last.wait()

        summary = self.expect_complete(tree, last)
        self.assertEqual(summary["executions"], len(signals) + 1)
        self.assertGreater(summary["total_seconds"], summary["seconds"])
        self.assertGreater(summary["total_cpu_seconds"], summary["cpu_seconds"])

    def test_a_chain_of_terms_under_mpiexec_ends_exact(self):
        self.chain("T1", [signal.SIGTERM] * 3)

    def test_a_chain_of_ints_and_terms_on_the_deep_tree_ends_exact(self):
        self.chain("T3", [signal.SIGINT, signal.SIGTERM])

    def alone(self, number: signal.Signals) -> None:
        experiment = self.experiment("T1", granularity=GRANULARITY)
        job = self.search(experiment, threads=2)
        job.until_searching()

        job.signal(number)
        result = self.finished(job)

        self.assertEqual(result.code, RESUMABLE, result.text)
        self.assertEqual(result.json["stop_reason"], "signal")
        self.assertEqual(result.json["exit_code"], RESUMABLE)
        self.expect_stopped("signal")
        again = self.search(experiment, threads=2)
        self.assertEqual(again.wait(), 0, again.describe())
        self.assertIn("resuming run", again.stderr)
        self.expect_complete("T1", again)

    def test_a_single_process_that_gets_term_exits_85(self):
        self.alone(signal.SIGTERM)

    def test_a_single_process_that_gets_int_exits_85(self):
        self.alone(signal.SIGINT)


class Stamped(Case):
    def stamp(self) -> int:
        try:
            return (self.folder / "run" / "checkpoint.h5").stat().st_mtime_ns
        except FileNotFoundError:
            return 0        # between two renames


class Checkpoint(Stamped):
    def test_usr1_to_mpiexec_writes_a_checkpoint_and_the_run_goes_on(self):
        job = self.search(self.experiment("T3", granularity=2 * GRANULARITY), "--set", "cluster.checkpoint=1h", *harness.SHORT_LEASE,
                          ranks=3, isolated=True)
        job.until_searching()
        self.assertFalse(self.has_checkpoint())

        job.signal(signal.SIGUSR1)
        job.until(self.has_checkpoint, "a checkpoint")
        first = self.stamp()
        job.signal(signal.SIGUSR1)
        job.until(lambda: self.stamp() != first, "another checkpoint")
        self.assertTrue(job.is_running)
        self.assertEqual(self.status(), (RESUMABLE, "running"))
        job.wait()

        self.expect_complete("T3", job)


class KilledRun(Stamped):
    def killed(self, tree: str, ranks: int, threads: int, experiment: Path, *arguments) -> dict:
        """Kills a run after a checkpoint of its own: that of an earlier execution is there before it has done anything."""
        before = self.stamp()
        job = self.search(experiment, *arguments, ranks=ranks, threads=threads)
        if "cluster.checkpoint=300ms" not in arguments:
            job.until_searching()
            job.signal(signal.SIGUSR1)
        job.until(lambda: self.stamp() > before and self.nodes_on_disk() > 0, "a checkpoint of its own")

        job.kill_everything()

        left = self.expect_stopped("interrupted")
        self.assertGreater(left["nodes"], 0)
        self.assertLess(left["nodes"], harness.PUBLISHED[tree].nodes)
        self.assertIn("the same command resumes", self.espalier("show", "run").stdout)
        return left

    def test_kill_9_of_everything_after_periodic_checkpoints(self):
        experiment = self.experiment("T1", granularity=3 * GRANULARITY)

        self.killed("T1", 3, 1, experiment, *harness.EAGER_CHECKPOINTS)
        self.killed("T1", 1, 2, experiment, *harness.EAGER_CHECKPOINTS)
        last = self.search(experiment, ranks=2)
        last.wait()

        summary = self.expect_complete("T1", last)
        self.assertEqual(summary["executions"], 3)
        self.assertGreater(summary["total_seconds"], summary["seconds"])
        self.assertGreater(summary["total_cpu_seconds"], summary["cpu_seconds"])

    def test_show_tells_what_a_killed_run_had_cost_at_its_last_checkpoint(self):
        left = self.killed("T1", 2, 1, self.experiment("T1", granularity=2 * GRANULARITY), *harness.EAGER_CHECKPOINTS)

        self.assertGreater(left["total_seconds"], 0)
        self.assertGreater(left["total_cpu_seconds"], 0)

    def test_kill_9_of_everything_after_a_checkpoint_by_usr1(self):
        experiment = self.experiment("T3", granularity=3 * GRANULARITY // 2)

        self.killed("T3", 2, 1, experiment, *harness.SHORT_LEASE)
        last = self.search(experiment, threads=2)
        last.wait()

        self.expect_complete("T3", last)

    def test_kill_9_before_the_first_checkpoint_starts_from_the_beginning(self):
        experiment = self.experiment("T1", granularity=GRANULARITY)
        job = self.search(experiment, threads=2)
        job.until_searching()

        job.kill_everything()

        self.expect_stopped("interrupted")
        again = self.search(experiment, "--set", "search.memory=50%", threads=2)
        self.assertEqual(again.wait(), 0, again.describe())
        self.assertIn("starting from the beginning", again.stderr)
        self.expect_complete("T1", again)


if __name__ == "__main__":
    harness.main()
