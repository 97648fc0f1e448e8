#!/usr/bin/python3
"""Pruning loses nothing: the native test against no pruning at all, and against Z3 as referee."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import DONE, RESUMABLE, Case

RMSNORM = "builtin: rmsnorm_linear, tokens: 4, hidden: 96, out: 80"
# So few ops that the search without pruning takes seconds; mirage counts inputs as ops.
SMALL = ["{from: mirage, max_block_ops: 5, max_kernel_ops: 4}", "{from: full, max_block_ops: 3, max_kernel_ops: 1}"]
# Z3 is asked some 0.1 s for every expression and pattern of splits.
TINY = "{from: full, max_kernel_ops: 1, max_block_ops: 2, kernel_ops: [matmul], block_ops: [matmul, rms_norm], loops: [64]}"


class Pruned(Case):
    def found(self, space: str, prune: str) -> tuple[set, dict]:
        yaml = self.superoptimization(RMSNORM, space, prune=prune)
        result = self.finished(self.search(yaml, "--quiet", "--force", threads=1))
        self.assertEqual((result.code, result.json["stop_reason"]), (DONE, "complete"), result.text)
        return self.answer(), result.json


class NoPruning(Pruned):
    def test_pruning_loses_no_program(self):
        """Without pruning there may be more only where the axioms do not know an equality; so short programs have none."""
        for space in SMALL:
            with self.subTest(space):
                pruned, summary = self.found(space, "native")
                everything, unpruned = self.found(space, "none")

                self.assertLessEqual(pruned, everything)
                self.assertEqual(pruned, everything)
                self.assertLess(10 * summary["mugraph"]["states"], unpruned["mugraph"]["states"])

    def test_a_kernel_may_have_very_many_values(self):
        """Some hundred thousand ops on operands of a single kernel; the search is stopped long before its end."""
        for space in ("{from: full, max_block_ops: 4, max_kernel_ops: 1}", "{from: mirage, max_block_ops: 6, max_kernel_ops: 3}"):
            with self.subTest(space):
                yaml = self.superoptimization(RMSNORM, space, prune="none")

                result = self.finished(self.search(yaml, "--quiet", "--force", "--max-nodes", "60000", *harness.SMALL_BUDGET))

                self.assertEqual((result.code, result.json["stop_reason"]), (RESUMABLE, "node_limit"), result.text)


class Referee(Pruned):
    def test_z3_agrees_with_every_answer_of_the_native_test(self):
        native, without = self.found(TINY, "native")

        both, asked = self.found(TINY, "both")

        self.assertTrue(native)
        self.assertEqual(both, native)
        self.assertEqual(without["mugraph"]["solver_queries"], 0)
        self.assertGreater(asked["mugraph"]["solver_queries"], 0)
        self.assertEqual(asked["mugraph"]["states"], without["mugraph"]["states"])


if __name__ == "__main__":
    harness.main()
