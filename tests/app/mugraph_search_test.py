#!/usr/bin/python3
"""What the superoptimizer finds: published counts, famous programs, every size that can be split, the cheapest, and nothing."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import DONE, NOTHING_FOUND, RESUMABLE, Case

HIDDEN_SIZES = [4096, 3072, 5120, 2880]
PRIME = 4093
NEGLIGIBLE = 2.0 ** -60     # the chance that a wrong program passed all random tests


class Found(Case):
    def found(self, program: str, space: str, *arguments) -> list[dict]:
        """All programs of a finished search, the cheapest first."""
        yaml = self.superoptimization(program, space)
        self.result = self.finished(self.search(yaml, "--force", "--quiet", *arguments, threads=2))
        self.assertEqual(self.result.code, DONE, self.result.text)
        self.assertEqual(self.result.json["stop_reason"], "complete", self.result.text)
        programs = self.show()["results"]
        self.assertEqual(self.result.json["results"], len(programs), self.result.text)
        return programs


class KnownCounts(Found):
    """Mirage (commit de8745d9) in its default space; of programs that differ only in the order of operands one is counted here."""

    def expect_counts(self, program: str, programs: int, forms: int) -> None:
        found = self.found(program, "mirage")

        self.assertEqual((len(found), self.result.json["mugraph"]["algebraic_forms"]), (programs, forms), self.result.text)
        self.assertEqual(len({one["form"] for one in found}), forms)
        self.assertEqual(len({one["key"] for one in found}), programs)

    def test_rmsnorm_linear_has_26_programs_in_2_forms(self):
        self.expect_counts("builtin: rmsnorm_linear, tokens: 2, hidden: 4096, out: 6144", 26, 2)

    def test_a_gated_mlp_has_22_programs_in_2_forms_of_which_mirage_prints_44_with_their_operand_twins(self):
        self.expect_counts("builtin: gated_mlp, tokens: 8, hidden: 4096, out: 4096", 22, 2)


class Sizes(Found):
    def rmsnorm(self, hidden: int, space: str) -> list[dict]:
        return self.found(f"builtin: rmsnorm_linear, tokens: 2, hidden: {hidden}, out: 6144", space)

    def test_every_hidden_size_that_can_be_split_has_a_looped_kernel(self):
        for space in ("mirage", "full"):
            for hidden in HIDDEN_SIZES:
                with self.subTest(hidden=hidden, space=space):
                    looped = [one for one in self.rmsnorm(hidden, space) if one["graph_kernels"] == one["kernels"] == 1 and one["loop_range"] > 1]

                    self.assertTrue(looped)
                    for one in looped:
                        self.assertEqual(hidden % one["loop_range"], 0, one["text"])

    def test_a_prime_hidden_size_has_a_looped_kernel_whose_last_tile_is_smaller(self):
        looped = [one for one in self.rmsnorm(PRIME, "full") if one["graph_kernels"] == one["kernels"] == 1 and one["loop_range"] > 1]

        self.assertTrue(looped)
        for one in looped:
            steps = one["loop_range"]
            last = PRIME - (steps - 1) * -(-PRIME // steps)
            self.assertIn(f"(loop: 1, last: [1, {last}])", one["text"])
            self.assertEqual(one["verified"], "proved")

    def test_a_small_prime_hidden_size_is_not_split_and_the_funnel_says_so(self):
        programs = self.rmsnorm(43, "full")

        looped = [one["loop_range"] for one in programs if one["loop_range"] > 1]
        text = self.espalier("show", "run").stdout

        self.assertEqual(looped, [])
        self.assertGreater(int(re.search(r"- no loop +([\d,]+)", text)[1].replace(",", "")), 0, text)

    def test_the_loops_of_mirage_do_not_fit_a_prime_hidden_size(self):
        programs = self.rmsnorm(PRIME, "mirage")

        self.assertEqual({one["loop_range"] for one in programs}, {1})


class Famous(Found):
    """Programs that people found by hand and published, each from the plain program alone."""

    def kernel_bodies(self, one: dict) -> list[str]:
        return re.findall(r"= kernel .*?\n  }", one["text"], re.S)

    def expect_sure(self, one: dict) -> None:
        self.assertTrue(one["verified"] == "proved" or one["error_bound"] < NEGLIGIBLE, one)

    def expect_one_kernel(self, programs: list[dict], pattern: str) -> None:
        """A program of a single kernel whose body has these ops in this order."""
        matching = [one for one in programs if one["kernels"] == one["graph_kernels"] == 1 and re.search(pattern, one["text"], re.S)]
        self.assertTrue(matching, f"no program of one kernel has {pattern}: {self.result.text}")
        for one in matching:
            self.expect_sure(one)

    def test_the_division_of_rmsnorm_behind_the_matmul_in_one_kernel(self):
        for name in ("rmsnorm_linear", "rmsnorm_linear_primitive"):
            with self.subTest(name):
                programs = self.found(f"builtin: {name}, tokens: 2, hidden: 4096, out: 6144", "mirage")

                self.expect_one_kernel(programs, r"= matmul x w .*= accumulate .*= div ")

    def test_a_gated_mlp_in_one_kernel(self):
        programs = self.found("builtin: gated_mlp, tokens: 8, hidden: 4096, out: 4096", "mirage")

        self.expect_one_kernel(programs, r"= matmul x w1 .*= matmul x w2 .*= silu .*= mul ")
        self.assertGreater(programs[0]["speedup"], 1)
        self.assertEqual(programs[0]["kernels"], 1)

    def test_lora_as_one_matmul_of_concatenated_operands(self):
        programs = self.found("builtin: lora, tokens: 16, hidden: 256, out: 4096, rank: 16", "{from: mirage, setting: lora}")

        self.expect_one_kernel(programs, r"(t\d+) = matmul x a .*= concat_matmul x \1 w b ")

    def test_attention_with_the_keys_split_over_blocks_and_the_parts_combined_by_a_second_kernel(self):
        programs = self.found("builtin: gqa, batch: 1, heads: 8, kv_heads: 2, queries: 64, keys: 4096, head_dim: 64", "{from: mirage, setting: attention}")

        split = [one for one in programs if one["kernels"] == one["graph_kernels"] == 2]
        self.assertTrue(split, self.result.text)
        for one in split:
            first, second = self.kernel_bodies(one)
            self.assertRegex(first, r"(?s)= matmul .*= exp .*= matmul ", one["text"])
            self.assertRegex(second, r"(?s)= accumulate_sum_to .*= div ", one["text"])
            self.expect_sure(one)


class NothingFound(Case):
    def expect_nothing(self, program: str, space: str) -> str:
        result = self.espalier("search", self.superoptimization(program, space), "--quiet")

        self.assertEqual(result.code, NOTHING_FOUND, result.text)
        self.assertEqual(self.status(), (NOTHING_FOUND, "complete"))
        self.assertEqual(self.show()["results"], [])
        self.assertIn("nothing found", result.stdout, result.text)
        return result.stdout

    def largest_reason(self, text: str) -> str:
        funnel = re.findall(r"^  - (.+?) +([\d,]+)  ", text, re.M)
        return max(funnel, key=lambda row: int(row[1].replace(",", "")))[0]

    def test_the_message_names_the_reason_that_most_ended_by(self):
        text = self.expect_nothing("builtin: qknorm_gqa, batch: 1, heads: 8, kv_heads: 2, queries: 64, keys: 4096, head_dim: 64",
                                   "{from: mirage, setting: attention}")

        self.assertRegex(text, rf"nothing found so far: most of the .* ended as '{self.largest_reason(text)}'")

    def test_a_search_that_was_stopped_says_so_instead(self):
        result = self.espalier("search", self.superoptimization("builtin: rmsnorm_linear, tokens: 2, hidden: 4096, out: 6144", "full"), "--quiet",
                               "--max-nodes", "1")

        self.assertEqual(result.code, RESUMABLE, result.text)
        self.assertIn("was stopped (node_limit) before the whole space was searched", result.stdout, result.text)
        self.assertNotIn("may help", result.stdout)

    def test_limits_of_one_op_find_nothing_and_the_message_names_the_limits(self):
        text = self.expect_nothing("builtin: rmsnorm_linear, tokens: 2, hidden: 4096, out: 6144", "{from: full, max_kernel_ops: 1, max_block_ops: 1}")

        self.assertIn(f"'{self.largest_reason(text)}'", text)
        self.assertIn("space.max_block_ops", text)

    def test_such_a_run_is_finished_and_there_is_nothing_to_verify(self):
        self.expect_nothing("builtin: rmsnorm_linear, tokens: 2, hidden: 4096, out: 6144", "{from: full, max_kernel_ops: 1, max_block_ops: 1}")

        again = self.espalier("search", "experiment.yaml")

        self.assertEqual(again.code, NOTHING_FOUND, again.text)
        self.assertIn("finished", again.stderr)
        self.expect_refused(self.espalier("verify", "run"), "no results")
        self.expect_refused(self.espalier("show", "run", "--program", "1"), "no results")


class BestOnly(Found):
    def cheapest(self, program: str, space: str) -> set[str]:
        """The keys of all programs of the lowest cost, from a search for everything."""
        everything = self.found(program, space)
        return {one["key"] for one in everything if one["cost_us"] == everything[0]["cost_us"]}

    def expect_the_cheapest(self, program: str, space: str, shapes: list[tuple]) -> None:
        expected = self.cheapest(program, space)
        for ranks, threads in shapes:
            with self.subTest(program, ranks=ranks, threads=threads):
                job = self.search(self.folder / "experiment.yaml", "--force", "--quiet", "--set", "search.best_only=true", ranks=ranks, threads=threads)
                self.assertEqual(job.wait(), DONE, job.describe())

                self.assertEqual({one["key"] for one in self.show()["results"]}, expected)

    def test_it_keeps_the_programs_of_the_lowest_cost_also_where_there_are_several(self):
        self.expect_the_cheapest("builtin: gated_mlp, tokens: 8, hidden: 4096, out: 4096", "mirage", [(1, 1), (1, 2), (2, 1), (3, 2), (3, 2), (3, 2), (4, 1)])

    def test_it_keeps_the_one_cheapest_program_of_the_full_space(self):
        self.expect_the_cheapest("builtin: rmsnorm_linear, tokens: 4, hidden: 96, out: 80", "full", [(1, 1), (1, 2), (3, 1)])


if __name__ == "__main__":
    harness.main()
