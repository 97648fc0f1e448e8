#!/usr/bin/python3
"""run/backend-onnxruntime: what it prints and writes, with a stand-in for onnxruntime and with the real one where ESPALIER_BACKEND_PYTHON has
it, and what it says when something is missing. The networks that tests make are well-formed, and the same every time."""

import json
import os
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import numpy as np

import harness
import networks
from harness import Case
from onnx_builder import inputs_for, onnx

SCRIPT = Path(__file__).resolve().parents[2] / "run/backend-onnxruntime"
REAL_PYTHON = os.environ.get("ESPALIER_BACKEND_PYTHON", "")
SMALL = [name for name in networks.NAMES if name not in networks.NETWORKS or name.endswith("-small")]
CANNOT_RUN = [*networks.small_networks.REFUSED]

# Doubles its inputs; the model says which there are, and what it was told is left beside it.
STAND_IN = """
import json
from types import SimpleNamespace as Any

import numpy

__version__ = "0.5"
ExecutionMode = Any(ORT_SEQUENTIAL="one by one")
GraphOptimizationLevel = Any(ORT_ENABLE_ALL="all")


class SessionOptions:
    def __init__(self):
        self.entries = {}

    def add_session_config_entry(self, key, value):
        self.entries[key] = value


class InferenceSession:
    def __init__(self, file, options, providers):
        self.model = json.load(open(file))
        if "fault" in self.model:
            raise RuntimeError(self.model["fault"])
        json.dump(vars(options), open(file + ".told", "w"))
        self.count = 0

    def get_inputs(self):
        return [Any(name=name, type=self.model.get("type", "tensor(float)")) for name in self.model["inputs"]]

    def get_overridable_initializers(self):
        return [Any(name=name) for name in self.model.get("defaults", [])]

    def get_outputs(self):
        return [Any(name="twice " + name) for name in self.model["inputs"]]

    def run(self, names, inputs):
        self.count += 1
        return [numpy.asarray(inputs.get(name, 0) * 2) for name in self.model["inputs"]]
"""


class BackEndCase(Case):
    def setUp(self):
        super().setUp()
        self.file("onnxruntime.py", STAND_IN)

    def backend(self, *arguments, python: str = "/usr/bin/python3", path: str = ".") -> harness.Result:
        return self.finished(self.start(SCRIPT, *arguments, env={"ESPALIER_BACKEND_PYTHON": python, "PYTHONPATH": path}))

    def model(self, **about) -> Path:
        return self.file("model.onnx", json.dumps(about))

    def inputs(self, **arrays) -> Path:
        np.savez(self.folder / "inputs.npz", **arrays)
        return self.folder / "inputs.npz"


class Told(BackEndCase):
    def test_times_and_outputs_are_told_in_json(self):
        x, scalar = np.arange(6, dtype=np.float32).reshape(2, 3), np.int64(4)

        result = self.backend(self.model(inputs=["x", "a/b:0"]), self.inputs(**{"x": x, "a/b:0": scalar, "unknown": x}), 1)

        self.assertEqual((result.code, result.stderr), (0, ""), result.text)
        told = result.json
        self.assertGreaterEqual(len(told["ms"]), 5)
        self.assertLessEqual(len(told["ms"]), 200)
        self.assertTrue(all(ms >= 0 for ms in told["ms"]))
        self.assertEqual((told["clock"], told["backend"]), ("cpu", "onnxruntime 0.5"))
        outputs = np.load(told["outputs"])
        self.assertEqual(outputs.files, ["twice x", "twice a/b:0"])
        np.testing.assert_array_equal(outputs["twice x"], 2 * x)
        self.assertEqual((outputs["twice a/b:0"].shape, outputs["twice a/b:0"].dtype, int(outputs["twice a/b:0"])), ((), np.int64, 8))

    def test_the_settings_are_those_of_the_documentation(self):
        result = self.backend(self.model(inputs=["x"]), self.inputs(x=np.ones(2)), 3)

        self.assertEqual(result.json["clock"], "wall")
        told = json.loads((self.folder / "model.onnx.told").read_text())
        self.assertEqual((told["intra_op_num_threads"], told["inter_op_num_threads"], told["graph_optimization_level"]), (3, 1, "all"))
        self.assertEqual(told["entries"], {"session.set_denormal_as_zero": "1"})

    def test_inputs_with_defaults_may_be_left_out(self):
        result = self.backend(self.model(inputs=["x"], defaults=["scale"]), self.inputs(x=np.ones(2)), 1)

        self.assertEqual(result.code, 0, result.text)


class Refused(BackEndCase):
    def expect_line(self, result, *words):
        self.expect_refused(result, "backend-onnxruntime: ", *words, code=1)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.text)

    def test_help_says_how_it_is_called(self):
        result = self.backend("--help")

        self.assertEqual(result.code, 0)
        self.assertIn("MODEL.onnx INPUTS.npz THREADS", result.stdout)

    def test_wrong_arguments_are_named(self):
        for arguments in ([], ["m.onnx", "i.npz", "0"], ["m.onnx", "i.npz", "1", "more"]):
            self.expect_line(self.backend(*arguments), "needs MODEL.onnx INPUTS.npz THREADS")

    def test_without_onnxruntime_it_says_how_to_get_it(self):
        (self.folder / "onnxruntime.py").write_text("raise ImportError('no', name='onnxruntime')")

        self.expect_line(self.backend(self.model(inputs=[]), self.inputs(), 1), "has no onnxruntime", "pip install onnxruntime",
                         "ESPALIER_BACKEND_PYTHON")

    def test_a_python_that_is_not_there_is_named(self):
        self.expect_line(self.backend("m.onnx", "i.npz", 1, python="/no/such/python"), "ESPALIER_BACKEND_PYTHON: /no/such/python")

    def test_what_is_missing_or_wrong_is_named(self):
        inputs = self.inputs(x=np.ones(2))
        self.expect_line(self.backend("no.onnx", inputs, 1), "no.onnx: no such file")
        self.expect_line(self.backend(self.model(inputs=["x"]), "no.npz", 1), "no.npz")
        self.expect_line(self.backend(self.model(inputs=["x", "y"]), inputs, 1), "it has no y, which the model wants")
        self.expect_line(self.backend(self.model(inputs=["x"], type="tensor(bfloat16)"), inputs, 1), "x is bfloat16")
        self.expect_line(self.backend(self.model(fault="two\nlines"), inputs, 1), "two lines")


@unittest.skipUnless(REAL_PYTHON, "ESPALIER_BACKEND_PYTHON names no python with onnxruntime")
class Real(BackEndCase):
    def test_small_networks_run(self):
        for name in SMALL:
            with self.subTest(name):
                model = networks.write(name, self.folder / "model.onnx")
                result = self.backend("model.onnx", self.inputs(**inputs_for(model)), 1, python=REAL_PYTHON, path="")
                if name in CANNOT_RUN:
                    self.assertEqual(result.code, 1, result.text)
                else:
                    self.assertEqual(result.code, 0, result.text)
                    outputs = np.load(result.json["outputs"])
                    self.assertEqual(outputs.files, [one.name for one in model.graph.output])
                    self.assertTrue(all(np.isfinite(outputs[one]).all() for one in outputs.files))


def dangling(graph, known: set) -> list[str]:
    """Values that are used and not made, or made twice; branches see what is outside."""
    made = {one.name for one in (*graph.input, *graph.initializer, *(one.values for one in graph.sparse_initializer))}
    outputs = [one for node in graph.node for one in node.output if one]
    found = [one for one in set(outputs) if outputs.count(one) > 1 or one in made | known]
    known = known | made | set(outputs)
    found += [one for node in graph.node for one in node.input if one and one not in known]
    found += [one.name for one in graph.output if one.name not in known]
    inner = [attribute.g for node in graph.node for attribute in node.attribute if attribute.HasField("g")]
    return found + [one for graph in inner for one in dangling(graph, known)]


class Networks(Case):
    def test_values_are_made_once_and_before_they_are_used(self):
        for name in SMALL:
            with self.subTest(name):
                model = onnx().ModelProto.FromString(networks.make(name)[0].SerializeToString())
                self.assertEqual(dangling(model.graph, set()), [])
                self.assertTrue(model.IsInitialized())

    def test_a_value_that_nobody_makes_is_noticed(self):
        model = networks.make("hard-swish-exported")[0]
        model.graph.node[2].input[0] = "nobody's"

        self.assertEqual(dangling(model.graph, set()), ["nobody's"])

    def test_they_are_the_same_for_the_same_seed_only(self):
        for name in ("hard-swish-exported", "nasrnn-small"):
            first, again, other = (networks.make(name, seed)[0].SerializeToString() for seed in (1, 1, 2))
            self.assertEqual(first, again)
            self.assertNotEqual(first, other)

    def test_the_command_writes_a_model_with_its_files_and_inputs(self):
        script = Path(networks.__file__)
        result = self.finished(self.start("/usr/bin/python3", "-B", script, "external-data", "-o", "m.onnx", "--inputs", "i.npz"))

        self.assertEqual(result.code, 0, result.text)
        self.assertEqual(np.load(self.folder / "i.npz")["image"].shape, (1, 8, 6, 6))
        self.assertGreater((self.folder / "external-data.bin").stat().st_size, 64)
        listed = self.finished(self.start("/usr/bin/python3", "-B", script, "--list")).stdout.split()
        self.assertIn("mobilenet-v3", listed)
        self.assertIn("if-captures", listed)


if __name__ == "__main__":
    harness.main()
