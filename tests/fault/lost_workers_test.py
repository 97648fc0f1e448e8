#!/usr/bin/python3
"""Ranks that die or fall asleep: the others take over their subtrees, and no node is lost or counted twice."""

import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import GRANULARITY, Case


class LostWorkers(Case):
    def disturbed(self, tree: str, victims: list[int], granularity: int = GRANULARITY) -> dict:
        """The summary of a search on four ranks, of which some are killed while it goes on."""
        job = self.search(self.experiment(tree, granularity=granularity), *harness.SHORT_LEASE, ranks=4, isolated=True)
        job.until_searching()
        ranks = job.ranks()
        self.assertEqual(sorted(ranks), [0, 1, 2, 3], job.describe())

        for victim in victims:  # one after the other: hydra's mpiexec dies of SIGPIPE if two proxies end at once
            os.kill(ranks[victim], signal.SIGKILL)
            job.until(lambda: f"rank {victim} " in job.stderr, f"the loss of rank {victim}")
        job.wait()

        summary = self.expect_complete(tree, job)
        # On a machine that is busy a healthy rank may be late and count as lost too; the answer is exact all the same.
        self.assertGreaterEqual(summary["lost_ranks"], len(victims), job.describe())
        return summary

    def test_one_of_three_workers_is_killed(self):
        self.disturbed("T1", [2], granularity=GRANULARITY // 2)

    def test_two_of_three_workers_are_killed_on_the_deep_tree(self):
        self.disturbed("T3", [1, 3], granularity=2 * GRANULARITY)

    def test_all_workers_but_the_master_are_killed(self):
        summary = self.disturbed("T1", [1, 2, 3], granularity=2 * GRANULARITY)

        self.assertEqual(summary["lost_ranks"], 3)


class StoppedWorker(Case):
    def test_a_worker_that_is_stopped_for_longer_than_its_lease_comes_back(self):
        job = self.search(self.experiment("T3", granularity=2 * GRANULARITY), *harness.SHORT_LEASE, ranks=4, isolated=True)
        job.until_searching()
        worker = job.ranks()[3]

        os.kill(worker, signal.SIGSTOP)
        job.until_says("rank 3")
        self.assertIn("not been heard of", job.stderr)
        os.kill(worker, signal.SIGCONT)
        job.until_says("rank 3 is back")
        job.wait()

        self.expect_complete("T3", job)

    def test_a_worker_that_stays_stopped_does_not_hold_up_the_end(self):
        job = self.search(self.experiment("T1", granularity=GRANULARITY // 2), *harness.SHORT_LEASE, ranks=3, isolated=True)
        job.until_searching()

        os.kill(job.ranks()[1], signal.SIGSTOP)
        job.wait()

        self.assertGreaterEqual(self.expect_complete("T1", job)["lost_ranks"], 1)


class LostMaster(Case):
    def test_without_rank_0_the_others_end_and_the_run_goes_on_from_its_last_checkpoint(self):
        experiment = self.experiment("T1", granularity=GRANULARITY)
        short = ["--set", "cluster.lease=200ms", *harness.EAGER_CHECKPOINTS]
        job = self.search(experiment, *short, ranks=3, isolated=True)
        job.until(lambda: self.nodes_on_disk() > 0, "a checkpoint")

        os.kill(job.ranks()[0], signal.SIGKILL)
        job.until(lambda: not job.ranks(), "all ranks have ended")
        job.end()

        self.assertIn("no word from the master", job.stderr)
        self.assertGreater(self.expect_stopped("interrupted")["nodes"], 0)
        again = self.search(experiment, threads=2)
        again.wait()
        self.expect_complete("T1", again)


if __name__ == "__main__":
    harness.main()
