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
        """The summary of a search on four ranks, of which some are killed while it runs."""
        experiment = self.experiment(tree, granularity=granularity)
        job = self.until_launcher_bears_it(experiment, lambda: self.killed(experiment, victims))

        summary = self.expect_complete(tree, job)
        # On a machine that is busy a healthy rank may be late and count as lost too; the answer is still exact.
        self.assertGreaterEqual(summary["lost_ranks"], len(victims), job.describe())
        return summary

    def killed(self, experiment: Path, victims: list[int]) -> harness.Job:
        job = self.search(experiment, *harness.SHORT_LEASE, ranks=4, isolated=True)
        job.until_searching()
        ranks = job.ranks()
        self.assertEqual(sorted(ranks), [0, 1, 2, 3], job.describe())

        harness.kill(*(ranks[victim] for victim in victims))    # at the same instant
        job.wait()
        return job

    def test_one_of_three_workers_is_killed(self):
        self.disturbed("T1", [2])

    def test_two_of_three_workers_are_killed_on_the_deep_tree(self):
        self.disturbed("T3", [1, 3], granularity=2 * GRANULARITY)

    def test_all_workers_but_the_master_are_killed(self):
        summary = self.disturbed("T1", [1, 2, 3], granularity=2 * GRANULARITY)

        self.assertEqual(summary["lost_ranks"], 3)


class LostHosts(Case):
    """A host that goes takes the launcher's proxy with it, and hydra's mpiexec gives up the whole job then."""

    def without_hosts(self, victims: list[int]) -> None:
        experiment = self.experiment("T1", granularity=2 * GRANULARITY)
        job = self.search(experiment, *harness.SHORT_LEASE, *harness.EAGER_CHECKPOINTS, ranks=4, isolated=True)
        job.until(lambda: self.nodes_on_disk() > 0, "a checkpoint")
        ranks = job.ranks()

        harness.kill(*(pid for victim in victims for pid in (ranks[victim], harness.parent_of(ranks[victim]))))
        code = job.wait()
        job.until_ranks_have_ended()

        self.assertNotEqual(code, harness.DONE, job.describe())
        self.assertTrue(job.was_given_up, job.describe())
        self.assertGreater(self.expect_stopped("interrupted", context=job.describe())["nodes"], 0)
        again = self.search(experiment, ranks=2)
        self.assertEqual(again.wait(), harness.DONE, again.describe())
        self.expect_complete("T1", again)

    def test_one_host_is_lost(self):
        self.without_hosts([2])

    def test_two_hosts_are_lost_at_the_same_instant(self):
        self.without_hosts([1, 3])


class StoppedWorker(Case):
    def test_a_worker_that_is_stopped_for_longer_than_its_lease_comes_back(self):
        job = self.search(self.experiment("T3", granularity=4 * GRANULARITY), *harness.SHORT_LEASE, ranks=4, isolated=True)
        job.until_searching()
        worker = job.ranks()[3]

        os.kill(worker, signal.SIGSTOP)
        job.until_says("rank 3")
        self.assertIn("has been silent for", job.stderr)
        os.kill(worker, signal.SIGCONT)
        job.until_says("rank 3 is back")
        job.wait()

        self.expect_complete("T3", job)

    def test_a_worker_that_stays_stopped_does_not_hold_up_the_end(self):
        job = self.search(self.experiment("T1", granularity=GRANULARITY), *harness.SHORT_LEASE, ranks=3, isolated=True)
        job.until_searching()

        os.kill(job.ranks()[1], signal.SIGSTOP)
        job.wait()

        self.assertGreaterEqual(self.expect_complete("T1", job)["lost_ranks"], 1)


class LostMaster(Case):
    def without_rank_0(self, *arguments, ranks: int) -> None:
        experiment = self.experiment("T1", granularity=2 * GRANULARITY)
        short = ["--set", "cluster.lease=200ms", *harness.EAGER_CHECKPOINTS]
        job = self.search(experiment, *short, *arguments, ranks=ranks, isolated=True)
        job.until(lambda: self.nodes_on_disk() > 0, "a checkpoint")

        os.kill(job.ranks()[0], signal.SIGKILL)
        job.until(lambda: not job.ranks(), "all ranks have ended")
        job.end()

        self.assertIn("the master has been silent", job.stderr)
        self.assertGreater(self.expect_stopped("interrupted")["nodes"], 0)
        again = self.search(experiment, threads=2)
        again.wait()
        self.expect_complete("T1", again)

    def test_without_rank_0_the_others_end_and_the_run_goes_on_from_its_last_checkpoint(self):
        self.without_rank_0(ranks=3)

    def test_without_rank_0_the_masters_of_groups_end_and_so_do_their_groups(self):
        self.without_rank_0("--set", "cluster.group=2", ranks=4)


if __name__ == "__main__":
    harness.main()
