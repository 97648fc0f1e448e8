#!/usr/bin/python3
"""The same answer, the published one, for every number of ranks and threads, every policy, and with group masters."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import DONE, Case

SHAPES = [(1, 1), (1, 2), (2, 1), (3, 1), (4, 2)]      # ranks x threads
POLICIES = ["static", "omp-dynamic", "hybrid"]


class Answers(Case):
    def expect_answer(self, tree: str, ranks: int, threads: int, *arguments, granularity: int = 1) -> None:
        with self.subTest(tree, ranks=ranks, threads=threads, arguments=arguments):
            yaml = self.experiment(tree, granularity=granularity)
            result = self.finished(self.search(yaml, "--force", "--quiet", *arguments, ranks=ranks, threads=threads))

            self.assertEqual(result.code, DONE, result.text)
            self.assertEqual(result.json["ranks"], ranks)
            self.expect_exact(result.json, tree, result.text)


class SameAnswer(Answers):
    def everywhere(self, tree: str, policy: str) -> None:
        for ranks, threads in SHAPES:
            self.expect_answer(tree, ranks, threads, "--set", f"cluster.policy={policy}")

    def test_t1_with_every_policy(self):
        for policy in POLICIES:
            self.everywhere("T1", policy)

    def test_t3_with_every_policy(self):
        for policy in POLICIES:
            self.everywhere("T3", policy)


class OtherTrees(Answers):
    def test_the_other_published_trees_on_two_ranks(self):
        for tree in ("T2", "T4", "T5"):
            self.expect_answer(tree, 2, 1)

    def test_small_budgets_make_many_messages_and_the_same_answer(self):
        self.expect_answer("T3", 3, 1, "--set", "cluster.budget=1ms", "--set", "cluster.commit=50ms")

    def test_without_a_trace_the_answer_is_the_same(self):
        self.expect_answer("T3", 2, 1, "--set", "trace.enabled=false")
        self.assertFalse((self.folder / "run" / "trace").exists())


class Hierarchy(Answers):
    def test_five_ranks_in_groups_of_two(self):
        for tree in ("T1", "T3"):
            self.expect_answer(tree, 5, 1, "--set", "cluster.group=2", granularity=3)

    def test_seven_ranks_in_groups_of_three_with_small_budgets(self):
        self.expect_answer("T3", 7, 1, "--set", "cluster.group=3", "--set", "cluster.budget=5ms")


if __name__ == "__main__":
    harness.main()
