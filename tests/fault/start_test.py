#!/usr/bin/python3
"""Ranks that die while MPI starts or ends: nobody waits for them forever. A run ends exact, or every rank that is left says why it
ends with code 1, and the same command again is exact.

ESPALIER_TEST_STARTS is how often a rank is killed at a random moment of the start (4), ESPALIER_TEST_SEED where the draws begin,
ESPALIER_DIE_IN_MPI the library that makes ranks die inside MPI."""

import os
import random
import re
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import ESPALIER, FAILURE, Case, Job

STARTS = int(os.environ.get("ESPALIER_TEST_STARTS", "4"))
SEED = int(os.environ.get("ESPALIER_TEST_SEED", "1"))
DIE_IN_MPI = os.environ.get("ESPALIER_DIE_IN_MPI", "")
START_S = round(4 * harness.SLOWNESS)
LEASE = ["--set", "cluster.lease=1s"]
IMPATIENT = ["--set", f"cluster.start={START_S}s", *LEASE]
PATIENT = ["--set", f"cluster.start={round(12 * harness.SLOWNESS)}s", *LEASE]     # it is also how long ranks wait for others at the end
TOO_LATE = "the ranks had not found each other after"
COULD_NOT = "the ranks could not"
MPI_GAVE_UP = "Fatal error in internal_Init"       # it sometimes notices a death itself, and so does its launcher
LAUNCHER_GAVE_UP = "mpiexec@"


class Start(Case):
    """Several searches at once, each in a folder of its own: nearly all of their time is spent waiting."""

    def begin(self, number: int, *, ranks: int = 3, patience: list = IMPATIENT, env: dict | None = None) -> Job:
        return self.start(*harness.launcher(ranks, isolated=True), ESPALIER, "search", self.experiment("T1"), "--json", "--threads", 1,
                          "--results", f"run{number}", *patience, env=env)

    def expect_ended(self, job: Job, victim: int) -> None:
        """By itself, and somebody has said why if it was not for the search; only a launcher that dies of SIGPIPE is silent."""
        code = job.wait(START_S + 120 * harness.SLOWNESS)
        job.until_ranks_have_ended()
        if code == -signal.SIGPIPE:
            return
        reasons = [TOO_LATE, COULD_NOT, MPI_GAVE_UP, LAUNCHER_GAVE_UP, "the master has been silent", f"rank {victim}", '"complete"']
        self.assertRegex(job.stderr + job.stdout, "|".join(reasons), job.describe())

    def expect_exact_again(self, number: int) -> None:
        """With time to start: the other jobs may still be spinning on the same cores."""
        run = f"run{number}"
        again = self.begin(number, ranks=2, patience=LEASE)
        self.assertEqual(again.wait(), 0, again.describe())
        self.expect_complete("T1", again, run=run)


class KilledAtStart(Start):
    def test_a_rank_that_is_killed_at_a_random_moment_leaves_nobody_waiting(self):
        draw = random.Random(SEED)
        victims = []
        for number in range(STARTS):
            job = self.begin(number)
            pids = job.until(lambda: (found := job.ranks()) if len(job.ranks()) == 3 else None, "all ranks have been started")
            delay_s, victim = draw.uniform(0, 0.3), draw.randrange(3)
            time.sleep(delay_s)
            harness.kill(pids[victim])
            victims.append((job, victim, delay_s))

        for number, (job, victim, delay_s) in enumerate(victims):
            with self.subTest(seed=SEED, number=number, victim=victim, delay_s=delay_s):
                self.expect_ended(job, victim)
                self.expect_exact_again(number)


class DiesInMpi(Start):
    def setUp(self):
        super().setUp()
        if not Path(DIE_IN_MPI).is_file():
            self.skipTest("ESPALIER_DIE_IN_MPI names no library")

    def dying(self, number: int, victim: int, function: str, *, by: signal.Signals = signal.SIGKILL, patience: list = PATIENT) -> Job:
        """Impatient only where the start itself fails: on a machine that is busy a good one takes longer."""
        return self.begin(number, patience=patience, env={"LD_PRELOAD": DIE_IN_MPI, "ESPALIER_TEST_DIES": str(victim), "ESPALIER_TEST_DIES_IN": function,
                                                           "ESPALIER_TEST_SIGNAL": str(int(by))})

    def test_a_request_for_a_checkpoint_before_the_search_has_begun_kills_nobody(self):
        """Hydra also tells the ranks of a dead one by it."""
        job = self.dying(0, 1, "MPI_Init_thread", by=signal.SIGUSR1)

        self.assertEqual(job.wait(), harness.DONE, job.describe())
        self.assertEqual(self.expect_complete("T1", job, run="run0")["lost_ranks"], 0)

    def test_a_rank_that_dies_in_any_step_of_the_start_leaves_nobody_waiting(self):
        cases = [("MPI_Init_thread", 1), ("MPI_Init_thread", 0), ("MPI_Comm_dup", 2), ("MPI_Bcast", 0)]
        jobs = [self.dying(number, victim, function, patience=IMPATIENT) for number, (function, victim) in enumerate(cases)]

        for number, (job, (function, victim)) in enumerate(zip(jobs, cases)):
            with self.subTest(function=function, victim=victim):
                self.expect_ended(job, victim)
                if not job.was_given_up and not re.search(f"{MPI_GAVE_UP}|{LAUNCHER_GAVE_UP}", job.stderr):
                    self.assertEqual(len(re.findall(f"{TOO_LATE} {START_S}s|{COULD_NOT}", job.stderr)), 2, job.describe())
                self.expect_exact_again(number)

    def test_a_rank_that_dies_at_the_end_costs_nothing(self):
        cases = [("MPI_Ibarrier", 1), ("MPI_Finalize", 2), ("MPI_Finalize", 0), ("MPI_Ibarrier", 0)]
        jobs = [self.dying(number, victim, function) for number, (function, victim) in enumerate(cases)]

        for number, (job, (function, victim)) in enumerate(zip(jobs, cases)):
            with self.subTest(function=function, victim=victim):
                job.wait()
                self.expect_complete("T1", run=f"run{number}")
        self.assertIn("rank 0 has not ended within", jobs[-1].stderr, "the others say where to look")


class NeverComes(Start):
    def expect_end(self, patience: str, *arguments, env: dict | None = None) -> None:
        self.expect_ranks_to_give_up(f"{TOO_LATE} {patience} (cluster.start", "search", self.experiment("T1"), *arguments, env=env)
        self.assertFalse((self.folder / "run").exists())

    def test_ranks_give_up_after_cluster_start(self):
        self.expect_end("2s", "--set", "cluster.start=2s")

    def test_the_environment_says_it_too(self):
        self.expect_end("3s", env={"ESPALIER_START": "3s"})

    def test_a_bad_experiment_is_reported_once_by_rank_0(self):
        self.file("experiment.yaml", "problem: {kind: uts, tree: T9}\nresults: {path: run}\n")
        for extra, env in ((["--set", "cluster.start=soon"], None), ([], {"ESPALIER_START": "later"}), (["--set", "nonsense"], None)):
            with self.subTest(extra=extra, env=env):
                job = self.start(*harness.launcher(3), ESPALIER, "search", "experiment.yaml", *extra, env=env)
                result = self.finished(job)

                self.assertEqual(result.code, harness.INVALID_INPUT, result.text)
                self.assertEqual(result.stderr.count((extra or [f"ESPALIER_START={env and env['ESPALIER_START']}"])[-1]), 1, result.text)

    def test_the_time_is_no_part_of_what_a_run_is(self):
        experiment = self.stoppable()
        self.assertEqual(self.finished(self.search(experiment, *harness.STOP_EARLY)).code, harness.RESUMABLE)

        again = self.finished(self.search(experiment, "--set", "cluster.start=7s"))

        self.assertEqual(again.code, harness.DONE, again.text)
        self.assertIn("start: 7s", self.espalier("search", experiment, "--set", "cluster.start=7s", "--print-config").stdout)


if __name__ == "__main__":
    harness.main()
