#!/usr/bin/python3
"""A superoptimization that cannot be: every error with its position and a suggestion, all at once, before anything is made."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import INVALID_INPUT, Case

RUN = "results: {path: run}\n"


class BadProgram(Case):
    def refused(self, content: str, *words: str) -> str:
        """The experiment is refused by `search` and by `check`, with the same words; returns what was said."""
        self.file("bad.yaml", content + RUN)
        for command in ("search", "check"):
            result = self.espalier(command, "bad.yaml")
            self.expect_refused(result, *words)
            self.assertFalse((self.folder / "run").exists(), result.text)
        return result.stderr

    def builtin(self, program: str, rest: str = "") -> str:
        return f"problem:\n  kind: mugraph\n  program: {{{program}}}\n{rest}"

    def test_an_unknown_builtin(self):
        self.refused(self.builtin("builtin: rmsnorm_liner"), "bad.yaml:3:22:", "'rmsnorm_liner'", "did you mean 'rmsnorm_linear'?")

    def test_an_unknown_size(self):
        self.refused(self.builtin("builtin: rmsnorm_linear, token: 2"), "bad.yaml:3:38:", "'token'", "did you mean 'tokens'?")

    def test_a_size_that_is_impossible(self):
        self.refused(self.builtin("builtin: rmsnorm_linear, hidden: 0"), "bad.yaml:3:46:", "hidden", "from 1 to")
        self.refused(self.builtin("builtin: gqa, heads: 8, kv_heads: 3"), "bad.yaml:3:47:", "kv_heads", "do not divide", "divisor of heads")

    def test_an_unsupported_dtype(self):
        self.refused(self.builtin("builtin: gated_mlp, dtype: f8"), "bad.yaml:3:40:", "dtype", "f16, bf16, f32", "not 'f8'")

    def test_unknown_hardware(self):
        self.refused(self.builtin("builtin: gated_mlp", "  hardware: a1000\n"), "bad.yaml:4:13:", "'a1000'", "did you mean 'a100'?")
        self.refused(self.builtin("builtin: gated_mlp", "  hardware: {from: a100, memory_bandwith: 1GB/s}\n"), "bad.yaml:4:26:", "did you mean 'memory_bandwidth'?")

    def test_a_typo_in_the_space(self):
        self.refused(self.builtin("builtin: gated_mlp", "  space: mirag\n"), "bad.yaml:4:10:", "did you mean 'mirage'?")
        self.refused(self.builtin("builtin: gated_mlp", "  space: {from: mirage, max_block_op: 5}\n"), "bad.yaml:4:25:", "did you mean 'max_block_ops'?")
        self.refused(self.builtin("builtin: gated_mlp", "  space: {from: full, block_ops: [matmull]}\n"), "bad.yaml:4:35:", "did you mean 'matmul'?")

    def test_a_typo_in_the_pruning(self):
        self.refused(self.builtin("builtin: gated_mlp", "  prune: nativ\n"), "bad.yaml:4:10:", "did you mean 'native'?")

    def test_a_key_that_means_nothing_in_the_space(self):
        self.refused(self.builtin("builtin: gated_mlp", "  space: {from: full, setting: lora}\n"), "bad.yaml:4:23:", "setting", "mirage")

    def test_no_program_at_all(self):
        self.refused("problem: {kind: mugraph}\n", "bad.yaml:1:10:", "program", "builtin: rmsnorm_linear")
        self.refused("problem: {kind: mugrap}\n", "bad.yaml:1:17:", "did you mean 'mugraph'?")

    def ops(self, *ops: str, outputs: str = "[Y]") -> str:
        lines = "".join(f"      - {{{op}}}\n" for op in ops)
        return ("problem:\n  kind: mugraph\n  program:\n    dims: {B: 16, K: 64}\n    inputs: {X: [B, K], W: [K, K]}\n    ops:\n"
                f"{lines}    outputs: {outputs}\n")

    def test_an_unknown_op(self):
        self.refused(self.ops("out: Y, op: matmull, in: [X, W]"), "bad.yaml:7:22:", "'matmull'", "did you mean 'matmul'?")

    def test_shapes_that_do_not_fit(self):
        self.refused(self.ops("out: U, op: matmul, in: [X, W]", "out: Y, op: matmul, in: [W, U]"), "bad.yaml:8:", "matmul needs", "[64, 64]", "[16, 64]")

    def test_a_tensor_that_is_not_there(self):
        self.refused(self.ops("out: Y, op: matmul, in: [X, V]"), "bad.yaml:7:", "'V'", "known are")
        self.refused(self.ops("out: Y, op: matmul, in: [X, W]", outputs="[Z]"), "bad.yaml:8:15:", "'Z'")

    def test_too_many_operands_and_an_unknown_attribute(self):
        self.refused(self.ops("out: U, op: matmul, in: [X, W]", "out: Y, op: relu, in: [U, X]"), "bad.yaml:8:", "relu takes 1 operand, got 2")
        self.refused(self.ops("out: U, op: matmul, in: [X, W]", "out: Y, op: sum, in: [U], axs: -1"), "bad.yaml:8:36:", "did you mean 'axis'?")

    def test_all_errors_at_once_in_the_order_of_the_file(self):
        said = self.refused(self.builtin("builtin: rmsnorm_linear, token: 2, dtype: f8",
                                         "  space: {from: mirage, max_block_op: 5}\n  prune: nativ\n  hardware: a10\nverify: {prov: true}\n"),
                            "'token'", "'f8'", "'max_block_op'", "'nativ'", "'a10'", "'prov'")

        self.assertEqual(said.count("error: "), 6, said)
        places = [said.index(place) for place in ("bad.yaml:3:38:", "bad.yaml:3:55:", "bad.yaml:4:", "bad.yaml:5:", "bad.yaml:6:", "bad.yaml:7:")]
        self.assertEqual(places, sorted(places))

    def test_an_unknown_op_and_a_wrong_shape_are_shown_together_with_the_rest(self):
        said = self.refused(self.ops("out: U, op: matmull, in: [X, W]", "out: V, op: matmul, in: [X, X]", "out: Y, op: add, in: [U, V]") + "  hardware: a10\n",
                            "bad.yaml:7:22:", "bad.yaml:8:", "bad.yaml:11:13:", "did you mean 'matmul'?", "did you mean 'a100'?")

        self.assertEqual(said.count("error: "), 3, said)

    def test_limits_that_no_search_has(self):
        self.refused(self.builtin("builtin: gated_mlp", "  space: {max_graph_kernels: 4}\n"), "bad.yaml:4:30:", "max_graph_kernels", "use 1 to 3")
        self.refused(self.builtin("builtin: gated_mlp", "  space: {max_kernel_ops: 3, max_block_ops: 40}\n"), "bad.yaml:4:45:", "45 steps, more than 40")
        self.refused(self.builtin("builtin: gated_mlp", "  space: {max_kernel_ops: 64}\n"), "bad.yaml:4:27:", "73 steps, more than 40")

    def test_a_limit_from_the_command_line_is_named_by_its_flag(self):
        self.file("bad.yaml", self.builtin("builtin: gated_mlp") + RUN)

        result = self.espalier("search", "bad.yaml", "--set", "problem.space.max_graph_kernels=4")

        self.expect_refused(result, "--set problem.space.max_graph_kernels=4: error:")
        self.assertFalse((self.folder / "run").exists(), result.text)

    def test_an_exponential_of_an_exponential(self):
        self.refused(self.ops("out: U, op: exp, in: [X]", "out: V, op: relu, in: [U]", "out: S, op: matmul, in: [V, W]", "out: Y, op: exp, in: [S]"),
                     "bad.yaml:10:9:", "'problem.program.ops[3]': exp takes an exponential", "leave one of them out")
        self.refused(self.ops("out: U, op: softmax, in: [X]", "out: S, op: matmul, in: [U, W]", "out: Y, op: softmax, in: [S]"), "bad.yaml:9:9:", "softmax")

    def test_a_division_by_zero_whatever_the_inputs_are(self):
        self.refused(self.ops("out: S, op: sum, in: [X]", "out: N, op: layernorm, in: [S]", "out: U, op: mul, in: [X, N]", "out: Y, op: matmul, in: [U, W]"),
                     "bad.yaml:8:9:", "'problem.program.ops[1]': layernorm divides by zero")
        self.refused(self.ops("out: Z, op: sub, in: [X, X]", "out: U, op: div, in: [X, Z]", "out: Y, op: matmul, in: [U, W]"), "bad.yaml:8:9:", "div divides by zero")

    def test_more_inputs_than_a_program_has_tensors(self):
        names = [f"A{i}" for i in range(24)]
        inputs = ", ".join(f"{name}: [B, K]" for name in names)
        ops = "".join(f"      - {{out: S{i}, op: add, in: [{'A0' if i == 1 else f'S{i - 1}'}, A{i}]}}\n" for i in range(1, 24))
        self.refused(f"problem:\n  kind: mugraph\n  program:\n    dims: {{B: 2, K: 4}}\n    inputs: {{{inputs}}}\n    ops:\n{ops}    outputs: [S23]\n",
                     "bad.yaml:5:13:", "24 inputs, more than 23")

    def test_a_device_that_is_not_there(self):
        self.refused(self.builtin("builtin: gated_mlp", "verify: {device: cuda}\n"), "bad.yaml:4:18:", "'verify.device': cuda, but")

    def test_under_mpi_rank_0_alone_says_it(self):
        bad = self.file("bad.yaml", self.builtin("builtin: rmsnorm_liner") + RUN)

        result = self.finished(self.search(bad, ranks=3))

        self.assertEqual(result.code, INVALID_INPUT, result.text)
        self.assertEqual(result.stderr.count("did you mean"), 1, result.text)


if __name__ == "__main__":
    harness.main()
