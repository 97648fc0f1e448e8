#!/usr/bin/python3
"""Large messages whose sender dies before they have arrived: UCX would fetch them out of the dead process's memory and end the receiver."""

import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import ESPALIER, Case

# Deep and narrow: a rank's unfinished nodes are some hundred kilobytes, committed fifty times per second.
LARGE = [*harness.SHORT_LEASE, "--set", "cluster.commit=20ms", "--set", "cluster.start=1min"]
TRIES = int(os.environ.get("ESPALIER_TEST_TRIES", "2"))


class LargeCommits(Case):
    def test_workers_that_die_while_rank_0_is_paused_do_not_end_it(self):
        experiment = self.experiment("T3L", granularity=12)
        for number in range(TRIES):
            with self.subTest(number=number):
                job = self.until_launcher_bears_it(experiment, lambda: self.without_two_senders(experiment))

                self.assertNotIn("UCX  ERROR", job.stderr, job.describe())
                self.expect_stopped("signal", context=job.describe())

    def without_two_senders(self, experiment: Path) -> harness.Job:
        job = self.search(experiment, "--force", *LARGE, ranks=4, isolated=True)
        job.until_searching()
        time.sleep(1)
        ranks = job.ranks()
        harness.send(ranks[0], signal.SIGSTOP)
        time.sleep(0.3)     # commits pile up
        harness.kill(ranks[1], ranks[2])
        time.sleep(0.2)
        harness.send(ranks[0], signal.SIGCONT)
        job.until(lambda: job.was_given_up or all(f"rank {victim}" in job.stderr for victim in (1, 2)), "rank 0 misses both")
        if not job.was_given_up:
            harness.send(ranks[0], signal.SIGTERM)
        job.wait()
        return job


class Settings(Case):
    def warning(self, **variables) -> str:
        """What a short search on two ranks says about UCX."""
        job = self.start(*harness.launcher(2), ESPALIER, "search", self.experiment("T1"), "--force", env=variables)
        self.assertEqual(job.wait(), harness.DONE, job.describe())
        return "\n".join(line for line in job.stderr.splitlines() if "UCX" in line)

    def test_a_setting_that_brings_the_danger_back_is_named_once(self):
        said = self.warning(UCX_RNDV_THRESH="8192")

        self.assertEqual(said.count("UCX_RNDV_THRESH=8192"), 1, said)
        self.assertIn("inf", said)

    def test_nothing_is_said_of_harmless_ones(self):
        self.assertEqual(self.warning(), "")
        self.assertEqual(self.warning(UCX_RNDV_THRESH="inf", UCX_LOG_LEVEL="error"), "")


if __name__ == "__main__":
    harness.main()
