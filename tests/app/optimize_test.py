#!/usr/bin/python3
"""`espalier optimize`: models rewritten by rules, computed again by an evaluator in numpy that shares nothing with ours, with what a model may
contain that nobody understands; measured on back ends that are quick, slow, wrong or broken; stopped, resumed, on several ranks."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import numpy as np

import harness
import networks
from harness import DONE, ESPALIER, INVALID_INPUT, USAGE, Case, launcher
from onnx_builder import onnx

REWRITE_KEYS = ["nodes", "understood", "opaque", "opaque_ops", "rewrites", "nodes_after", "cost_before", "cost_after", "cost_source"]

# --- an evaluator of its own

TYPES = {1: np.float32, 6: np.int32, 7: np.int64, 9: np.bool_, 10: np.float16, 11: np.float64}


def array_of(tensor) -> np.ndarray:
    kind = TYPES[tensor.data_type]
    if tensor.raw_data:
        return np.frombuffer(tensor.raw_data, kind).reshape(tuple(tensor.dims))
    data = {1: tensor.float_data, 7: tensor.int64_data, 11: tensor.double_data}[tensor.data_type]
    return np.array(data, kind).reshape(tuple(tensor.dims))


def convolution(a, x, w, b=None):
    groups, pads = a.get("group", 1), a.get("pads", [0, 0, 0, 0])
    strides, dilations = a.get("strides", [1, 1]), a.get("dilations", [1, 1])
    x = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    outs, ins = w.shape[0] // groups, w.shape[1]
    height = (x.shape[2] - dilations[0] * (w.shape[2] - 1) - 1) // strides[0] + 1
    width = (x.shape[3] - dilations[1] * (w.shape[3] - 1) - 1) // strides[1] + 1
    out = np.zeros((x.shape[0], w.shape[0], height, width))
    for o in range(w.shape[0]):
        channels = x[:, o // outs * ins:(o // outs + 1) * ins]
        for i in range(w.shape[2]):
            for j in range(w.shape[3]):
                window = channels[:, :, i * dilations[0]:i * dilations[0] + strides[0] * (height - 1) + 1:strides[0],
                                  j * dilations[1]:j * dilations[1] + strides[1] * (width - 1) + 1:strides[1]]
                out[:, o] += np.einsum("nchw,c->nhw", window, w[o, :, i, j])
    return out if b is None else out + b.reshape(1, -1, 1, 1)


def split(a, x, sizes=None):
    sizes = a.get("split") if sizes is None else sizes
    return np.split(x, np.cumsum(sizes)[:-1], axis=a.get("axis", 0))


OPS = {
    "Add": lambda a, x, y: x + y, "Sub": lambda a, x, y: x - y, "Mul": lambda a, x, y: x * y, "Div": lambda a, x, y: x / y,
    "Relu": lambda a, x: np.maximum(x, 0), "Sigmoid": lambda a, x: 1 / (1 + np.exp(-x)), "Tanh": lambda a, x: np.tanh(x),
    "Clip": lambda a, x, low=None, high=None: np.clip(x, a.get("min", low), a.get("max", high)),
    "HardSigmoid": lambda a, x: np.clip(a.get("alpha", 0.2) * x + a.get("beta", 0.5), 0, 1),
    "HardSwish": lambda a, x: x * np.clip(x / 6 + 0.5, 0, 1),
    "MatMul": lambda a, x, y: x @ y, "Conv": convolution, "Concat": lambda a, *x: np.concatenate(x, axis=a["axis"]), "Split": split,
    "Transpose": lambda a, x: np.transpose(x, a.get("perm")), "Identity": lambda a, x: x, "Cast": lambda a, x: x,
}


def attributes_of(node) -> dict:
    kinds = onnx().AttributeProto
    values = {kinds.FLOAT: lambda a: a.f, kinds.INT: lambda a: a.i, kinds.INTS: lambda a: list(a.ints), kinds.FLOATS: lambda a: list(a.floats),
              kinds.STRING: lambda a: a.s.decode(), kinds.TENSOR: lambda a: array_of(a.t)}
    return {a.name: values[a.type](a) for a in node.attribute}


def evaluated(model, inputs: dict):
    """In float64; None where there is an op that it does not know."""
    values = {"": None, **{name: np.asarray(one, np.float64) for name, one in inputs.items()}}
    for tensor in model.graph.initializer:
        one = array_of(tensor)
        values[tensor.name] = one.astype(np.float64) if one.dtype.kind == "f" else one
    for node in model.graph.node:
        if node.op_type == "Constant":
            one = attributes_of(node)["value"]
            values[node.output[0]] = one.astype(np.float64) if one.dtype.kind == "f" else one
            continue
        if node.op_type not in OPS or node.domain:
            return None
        made = OPS[node.op_type](attributes_of(node), *(values[name] for name in node.input))
        for name, one in zip(node.output, made if node.op_type == "Split" else [made]):
            values[name] = one
    return [values[one.name] for one in model.graph.output]


# --- back ends

# As long as a model has nodes; what it puts out is 1, or what the variable WRONG says for a model that is not the first.
BACK_END = """#!/usr/bin/python3
import json, os, sys
sys.path.insert(0, {support!r})
import numpy as np
from onnx_builder import onnx
model = onnx().ModelProto.FromString(open(sys.argv[1], "rb").read())
slow = float(os.environ.get("PER_NODE", "1"))
is_first = os.path.basename(sys.argv[1]) == "before.onnx"
ms = 10 + slow * len(model.graph.node)
value = 1.0 if is_first else float(os.environ.get("OUTPUT", "1"))
folder = os.path.dirname(sys.argv[2])
np.savez(os.path.join(folder, "out.npz"), **{{o.name: np.full((2,), value, np.float32) for o in model.graph.output}})
if os.environ.get("FAILS") and not is_first:
    sys.exit(os.environ["FAILS"])
print(json.dumps({{"ms": [ms, ms * 1.001, ms * 0.999], "outputs": os.path.join(folder, "out.npz"), "backend": "counting nodes"}}))
"""


class Models(Case):
    def model(self, name: str) -> Path:
        path = self.folder / f"{name}.onnx"
        networks.write(name, path)
        return path

    def read(self, path: Path):
        return onnx().ModelProto.FromString(path.read_bytes())

    def optimize(self, model: Path, *arguments, ranks: int = 1, env=None):
        prefix = launcher(ranks) if ranks > 1 else []
        return self.finished(self.start(*prefix, ESPALIER, "optimize", model, "-o", self.folder / "out.onnx", "--results", "run", *arguments, env=env))

    def optimized(self, model: Path, *arguments, **more) -> dict:
        result = self.optimize(model, "--json", *arguments, **more)
        self.assertEqual(result.code, DONE, result.text)
        return result.json["rewrite"]

    def out(self):
        return self.read(self.folder / "out.onnx")

    def ops(self) -> list[str]:
        return [node.op_type for node in self.out().graph.node]

    def expect_equal(self, before, after, name: str) -> bool:
        """By the evaluator above, on numbers of both signs and several magnitudes."""
        random = np.random.default_rng(7)
        for scale in (0.1, 1, 10):
            inputs = {}
            for one in before.graph.input:
                shape = [d.dim_value if d.dim_value > 0 else 1 for d in one.type.tensor_type.shape.dim]
                inputs[one.name] = scale * random.normal(size=shape)
            try:
                expected, found = evaluated(before, inputs), evaluated(after, inputs)
            except (KeyError, ValueError):      # nodes out of order, data elsewhere, elements of other kinds
                return False
            if expected is None or found is None:
                return False
            for a, b in zip(expected, found):
                self.assertEqual(a.shape, b.shape, name)
                np.testing.assert_allclose(b, a, rtol=0, atol=2e-6 * max(1e-30, np.abs(a).max()), err_msg=name)
        return True


class Rewritten(Models):
    def test_exported_hard_swishes_become_what_back_ends_know(self):
        for name in ("hard-swish-exported", "hard-swish-divided-first", "hard-swish-multiplied"):
            with self.subTest(name):
                told = self.optimized(self.model(name), "--force")
                self.assertEqual(list(told)[:len(REWRITE_KEYS)], REWRITE_KEYS)
                self.assertGreater(told["rewrites"], 0)
                self.assertLess(told["cost_after"], told["cost_before"])
                self.assertEqual(told["cost_source"], "estimated")
                self.assertEqual(told["nodes_after"], len(self.ops()))
                self.assertTrue({"HardSigmoid", "HardSwish"} & set(self.ops()), self.ops())
                self.assertNotIn("Clip", self.ops())
                self.assertTrue(self.expect_equal(self.read(self.folder / f"{name}.onnx"), self.out(), name))

    def test_an_opset_without_an_op_gets_none_of_it(self):
        self.optimized(self.model("hard-swish-opset-10"))

        self.assertNotIn("HardSwish", self.ops())
        self.assertIn("HardSigmoid", self.ops())

    def test_scalars_around_convolutions_are_folded(self):
        model = self.model("affine-chain")
        before = len(self.read(model).graph.node)

        told = self.optimized(model)

        self.assertLessEqual(told["nodes_after"], before - 5)
        self.assertTrue(self.expect_equal(self.read(model), self.out(), "affine-chain"))

    def test_what_is_added_before_a_padded_convolution_is_no_bias(self):
        model = self.model("affine-padded")
        self.optimized(model)

        self.assertIn("Add", self.ops())
        self.assertTrue(self.expect_equal(self.read(model), self.out(), "affine-padded"))

    def test_every_small_model_computes_the_same_afterwards(self):
        compared = 0
        for name in networks.small_networks.NETWORKS:
            with self.subTest(name):
                model = self.model(name)
                self.optimized(model, "--force")
                before, after = self.read(model), self.out()
                self.assertEqual([one.name for one in before.graph.output], [one.name for one in after.graph.output])
                self.assertEqual([one.name for one in before.graph.input], [one.name for one in after.graph.input])
                self.assertEqual(before.opset_import, after.opset_import)
                self.assertEqual(before.metadata_props, after.metadata_props)
                compared += self.expect_equal(before, after, name)
        self.assertGreater(compared, 12)


class Kept(Models):
    def test_what_is_not_understood_is_kept_and_named(self):
        model = self.model("resize-between")
        told = self.optimized(model)

        self.assertEqual(told["nodes"], len(self.read(model).graph.node))
        self.assertIn("Resize", told["opaque_ops"])
        self.assertEqual(told["understood"] + told["opaque"], told["nodes"])
        [before] = [node for node in self.read(model).graph.node if node.op_type == "Resize"]
        [after] = [node for node in self.out().graph.node if node.op_type == "Resize"]
        self.assertEqual((before.attribute, before.output), (after.attribute, after.output))

    def test_nodes_inside_branches_count_and_are_opaque(self):
        told = self.optimized(self.model("if-captures"), "--max-time", "0s")
        inner = sum(len(one.g.node) for node in self.out().graph.node for one in node.attribute if one.HasField("g"))

        self.assertGreater(inner, 0)
        self.assertGreater(told["nodes"], told["understood"] + sum(told["opaque_ops"].values()))
        self.assertEqual(told["understood"] + told["opaque"], told["nodes"])

    def test_whole_numbers_are_not_touched(self):
        model = self.model("hard-swish-whole-numbers")
        self.assertEqual(self.optimized(model)["rewrites"], 0)
        self.assertEqual((self.folder / "out.onnx").read_bytes(), model.read_bytes())

    def test_without_time_the_output_is_the_input(self):
        model = self.model("hard-swish-exported")
        told = self.optimized(model, "--max-time", "0s")

        self.assertEqual((told["rewrites"], told["nodes_after"]), (0, told["nodes"]))
        self.assertEqual((self.folder / "out.onnx").read_bytes(), model.read_bytes())
        self.assertFalse((self.folder / "run").exists())

    def test_where_nothing_is_better_the_output_is_the_input_and_says_so(self):
        model = self.model("softmax-11")
        result = self.optimize(model)

        self.assertEqual(result.code, DONE, result.text)
        self.assertIn("the input, unchanged", result.stderr)
        self.assertEqual((self.folder / "out.onnx").read_bytes(), model.read_bytes())


class Measured(Models):
    def setUp(self):
        super().setUp()
        self.backend = self.file("back end", BACK_END.format(support=str(Path(networks.__file__).parent)))
        self.backend.chmod(0o755)

    def measured(self, **environment):
        return self.optimize(self.model("hard-swish-exported"), "--json", "--backend", f"'{self.backend}'", "--force",
                             env={**harness.environment(), **{name: str(value) for name, value in environment.items()}})

    def test_the_times_are_those_of_the_back_end(self):
        told = self.measured().json["rewrite"]

        self.assertEqual(told["cost_source"], "measured")
        self.assertEqual(told["cost_before"], 10 + 6)
        self.assertEqual(told["cost_after"], 10 + told["nodes_after"])
        self.assertGreater(told["rewrites"], 0)

    def test_what_is_not_faster_there_is_not_written(self):
        for per_node in (0, -1):
            with self.subTest(per_node=per_node):
                result = self.measured(PER_NODE=per_node)
                self.assertEqual(result.code, DONE, result.text)
                self.assertEqual(result.json["rewrite"]["rewrites"], 0)
                self.assertEqual((self.folder / "out.onnx").read_bytes(), (self.folder / "hard-swish-exported.onnx").read_bytes())

    def test_what_computes_something_else_there_is_not_written(self):
        for output in (1.5, "nan"):
            with self.subTest(output=output):
                result = self.measured(OUTPUT=output)
                self.assertEqual(result.code, DONE, result.text)
                self.assertEqual(result.json["rewrite"]["rewrites"], 0)

    def test_a_back_end_that_fails_costs_the_gain_and_nothing_else(self):
        result = self.measured(FAILS="no room for another model")

        self.assertEqual(result.code, DONE, result.text)
        self.assertEqual(result.json["rewrite"]["rewrites"], 0)
        self.assertIn("no room for another model", self.espalier("show", "run").text)

    def test_a_back_end_that_is_not_there_is_told(self):
        result = self.optimize(self.model("hard-swish-exported"), "--backend", "/nowhere/at-all")

        self.assertEqual(result.code, DONE, result.text)
        self.assertIn("the input, unchanged", result.stderr)
        self.assertIn("/nowhere/at-all", self.espalier("show", "run").text)


class Runs(Models):
    def answer_of(self, run: str) -> set:
        return {(one["key"], one["what"], one["after_ms"]) for one in self.show(run)["results"]}

    def test_the_same_answer_for_all_ranks_and_threads_and_after_a_stop(self):
        model = self.model("nasrnn-small")
        self.optimized(model)
        expected = self.answer_of("run")
        self.assertGreater(len(expected), 1)
        yaml = self.file("experiment.yaml", f"problem: {{kind: rewrite, model: {model}}}\nresults: {{path: run}}\n")
        for ranks, threads in ((1, 2), (2, 1), (3, 2)):
            with self.subTest(ranks=ranks, threads=threads):
                self.finished(self.search(yaml, "--results", "other", "--force", ranks=ranks, threads=threads))
                self.assertEqual(self.answer_of("other"), expected)
        for nodes in (5, 40):
            self.finished(self.search(yaml, "--results", "stopped", "--max-nodes", str(nodes), *harness.SMALL_BUDGET))
        self.finished(self.search(yaml, "--results", "stopped", "--max-nodes", "0"))
        self.assertEqual(self.answer_of("stopped"), expected)

    def test_a_run_tells_verifies_draws_and_writes_its_answer(self):
        self.optimized(self.model("hard-swish-exported"))

        text = self.espalier("show", "run").text
        self.assertIn("6 nodes, 6 understood", text)
        self.assertIn("rule ", self.espalier("show", "run", "--program", "1").text)
        self.assertIn("<svg", self.espalier("show", "run", "--program", "1", "--format", "svg").stdout)
        self.assertEqual(self.espalier("verify", "run").code, DONE)
        self.assertEqual(self.espalier("show", "run", "--format", "onnx", "-o", "again.onnx").code, DONE)
        self.assertEqual((self.folder / "again.onnx").read_bytes(), (self.folder / "out.onnx").read_bytes())
        self.assertEqual(self.espalier("report", "run").code, DONE)

    def test_a_model_that_was_changed_is_not_taken_for_the_one_of_the_run(self):
        model = self.model("hard-swish-exported")
        self.optimized(model)
        model.write_bytes(networks.make("not-hard-swish")[0].SerializeToString())

        result = self.optimize(model)

        self.assertEqual(result.code, INVALID_INPUT, result.text)
        self.assertEqual(self.espalier("show", "run", "--format", "onnx", "-o", "again.onnx").code, INVALID_INPUT)


class Refused(Models):
    def expect(self, code: int, text: str, *arguments):
        result = self.espalier("optimize", *arguments)
        self.assertEqual(result.code, code, result.text)
        self.assertIn(text, result.stderr)

    def test_what_cannot_be_done_is_said_with_a_remedy(self):
        model = self.model("hard-swish-exported")
        broken = self.file("broken.onnx", "no model")
        self.expect(INVALID_INPUT, "name an ONNX file", "-o", "x.onnx")
        self.expect(INVALID_INPUT, "--output is missing", model)
        self.expect(INVALID_INPUT, "nowhere.onnx", "nowhere.onnx", "-o", "x.onnx")
        self.expect(INVALID_INPUT, "broken.onnx", broken, "-o", "x.onnx")
        self.expect(INVALID_INPUT, "needs a back end", model, "-o", "x.onnx", "--cost", "measured")
        self.expect(INVALID_INPUT, "use measured or estimated", model, "-o", "x.onnx", "--cost", "guessed")
        self.expect(INVALID_INPUT, "is not a time", model, "-o", "x.onnx", "--max-time", "soon")
        self.expect(INVALID_INPUT, "rules", model, "-o", "x.onnx", "--rules", broken)
        self.expect(USAGE, "--threads", model, "-o", "x.onnx", "--threads", "none")
        self.assertFalse((self.folder / "x.onnx").exists())

    def test_check_finds_what_search_would(self):
        yaml = self.file("experiment.yaml", "problem: {kind: rewrite, model: nowhere.onnx}\nresults: {path: run}\n")

        result = self.espalier("check", yaml)

        self.assertEqual(result.code, INVALID_INPUT, result.text)
        self.assertIn("experiment.yaml:1:33", result.stderr)


if __name__ == "__main__":
    harness.main()
