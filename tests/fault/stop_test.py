#!/usr/bin/python3
"""A run stops whatever its nodes do: in the middle of an hour's expansion, a cut of the tree, or a proof."""

import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import DONE, ESPALIER, RESUMABLE, Case

# The root has a million children, and each of them takes milliseconds: it is expanded for many minutes.
BROAD = "{type: binomial, b: 1000000, q: 0.2, m: 4, seed: 0}"
NARROW = "{type: binomial, b: 2000, q: 0.2, m: 4, seed: 0}"
PATIENCE_S = 60         # far from what it takes, and from what the root would take


class LongNodes(Case):
    def long(self) -> Path:
        return self.experiment(BROAD, granularity=20000)

    def test_a_time_limit_ends_it_with_every_policy(self):
        for policy in ("hybrid", "static", "omp-dynamic"):
            for ranks, threads in ((1, 2), (2, 1)):
                with self.subTest(policy=policy, ranks=ranks):
                    job = self.search(self.long(), "--max-time", "1s", "--set", f"cluster.policy={policy}", "--force",
                                      ranks=ranks, threads=threads)

                    job.wait(PATIENCE_S)

                    summary = self.expect_stopped("time_limit", context=job.describe())
                    self.assertEqual((summary["nodes"], summary["lost_ranks"]), (0, 0), "a root half done is not done")

    def test_one_term_is_enough(self):
        for ranks in (1, 2):
            with self.subTest(ranks=ranks):
                job = self.search(self.long(), "--force", ranks=ranks)
                job.until_says("0 nodes")

                job.signal(signal.SIGTERM)
                job.wait(PATIENCE_S)

                self.expect_stopped("signal", context=job.describe())

    def test_what_was_given_up_is_done_after_a_resume(self):
        yaml = self.experiment(NARROW, granularity=12000)     # the root alone takes longer than a limit below
        for _ in range(3):
            self.search(yaml, "--max-time", "300ms", threads=2).wait(PATIENCE_S)
        self.finished(self.search(yaml, "--set", "search.max_time=0s", threads=2))
        self.finished(self.search(self.experiment(NARROW, name="quick.yaml"), "--results", "quick"))

        stopped, quick = self.show(), self.show("quick")

        self.assertGreater(stopped["executions"], 2)
        self.assertEqual((stopped["stop_reason"], stopped["uts"]), ("complete", quick["uts"]))


class LongProof(Case):
    SMALL = "builtin: rmsnorm_linear, tokens: 4, hidden: 96, out: 80"

    def test_proofs_are_told_apart_from_the_rest_of_verifying(self):
        result = self.finished(self.search(self.superoptimization(self.SMALL, "full"), "--quiet"))

        phases = result.json["phases"]

        self.assertEqual(result.code, DONE, result.text)
        self.assertGreater(phases["prove"], 0)
        self.assertGreater(phases["verify"], 0)
        self.assertLessEqual(sum(phases.values()), 1.01 * result.json["cpu_seconds"])
        page = self.espalier("show", "run").stdout
        self.assertRegex(page, r"prove \d")

    def test_searches_stopped_in_the_middle_of_proofs_give_the_same_answer(self):
        yaml = self.superoptimization(self.SMALL, "full")
        self.finished(self.search(yaml, "--quiet", "--results", "expected"))
        for i in range(40):
            job = self.search(yaml, "--max-time", "250ms", "--quiet", threads=1 + i % 2)
            if job.wait(PATIENCE_S) != RESUMABLE:
                break

        self.finished(self.search(yaml, "--quiet"))

        self.assertEqual(self.answer(), self.answer("expected"))
        self.assertEqual(self.show()["nodes"], self.show("expected")["nodes"])


if __name__ == "__main__":
    harness.main()
