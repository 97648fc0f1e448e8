#!/usr/bin/python3
"""Graph substitutions from the command line: the published numbers of graphs, the same rules for all ranks and threads and after stops,
what scripts read, and clear refusals."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import numpy as np

import harness
from harness import DONE, INVALID_INPUT, RESUMABLE, Case

SEARCH = """problem: {kind: substitution, space: taso, order: %s, max_ops: %d}
results: {path: run}
"""
KEYS = ["graphs", "by_ops", "connected", "one_output", "groups", "pairs", "rules", "proved"]


class SubstitutionCase(Case):
    def yaml(self, max_ops: int = 2, order: str = "taso") -> Path:
        return self.file("experiment.yaml", SEARCH % (order, max_ops))

    def rules(self, run: str = "run") -> set:
        found = self.show(run)["results"]
        rules = {(one["key"], one["left"], one["right"]) for one in found}
        self.assertEqual(len(rules), len(found), "a rule was stored twice")
        return rules


class Search(SubstitutionCase):
    def test_the_summary_has_the_published_numbers(self):
        result = self.finished(self.search(self.yaml(3), threads=2))
        self.assertEqual(result.code, DONE, result.text)
        told = result.json["substitution"]
        self.assertEqual(list(told), KEYS)
        self.assertEqual((told["graphs"], told["by_ops"]), (250_026, [69, 4_173 - 69, 250_026 - 4_173]))
        self.assertEqual((told["connected"], told["one_output"]), (84_563, 33_838))
        # after the refusals of common parts; a prototype of the same definitions counted the same number
        self.assertEqual(told["rules"], 1_554)
        self.assertEqual(result.json["results"], 1_554)
        self.assertGreaterEqual(told["proved"], 1_531)

    def test_the_same_rules_for_all_ranks_and_threads_and_after_a_stop(self):
        yaml = self.yaml()
        self.finished(self.search(yaml))
        expected = self.rules()
        self.assertTrue(expected)
        for ranks, threads in ((1, 2), (2, 1), (3, 2)):
            with self.subTest(ranks=ranks, threads=threads):
                folder = f"run-{ranks}-{threads}"
                self.finished(self.search(yaml, "--results", folder, ranks=ranks, threads=threads))
                self.assertEqual(self.rules(folder), expected)
        stopped = self.finished(self.search(yaml, "--results", "stopped", "--max-nodes", "20", "--set", "cluster.budget=1ms"))
        self.assertIn(stopped.code, (RESUMABLE, DONE))
        self.finished(self.search(yaml, "--results", "stopped", ranks=2))
        self.assertEqual(self.rules("stopped"), expected)

    def test_the_rules_do_not_depend_on_the_random_values(self):
        self.finished(self.search(self.yaml(order="all")))
        expected = self.rules()
        self.finished(self.search(self.yaml(order="all"), "--results", "other", "--set", "search.seed=77"))
        self.assertEqual(self.rules("other"), expected)


class Told(SubstitutionCase):
    def setUp(self):
        super().setUp()
        self.finished(self.search(self.yaml()))

    def test_a_rule_is_printed_in_each_format(self):
        text = self.espalier("show", "run", "--program", "1")
        told = json.loads(self.espalier("show", "run", "--program", "1", "--format", "json").stdout)
        self.assertEqual(len(text.stdout.splitlines()), 3)
        self.assertIn("proved for all sizes", text.stdout)
        self.assertEqual({"left", "right", "key", "verified", "condition", "inputs"}, set(told))
        for side in (told["left"], told["right"]):
            made = [name for one in side["operators"] for name in one["outputs"]]
            self.assertTrue(set(side["outputs"]) <= set(made))

    def test_the_library_has_every_rule(self):
        library = json.loads(self.espalier("show", "run", "--format", "rules").stdout)
        self.assertEqual(library["version"], 1)
        self.assertEqual({one["key"] for one in library["rules"]}, {key for key, *_ in self.rules()})

    def test_a_known_rule_is_among_them(self):
        sides = {frozenset((left, right)) for _, left, right in self.rules()}
        self.assertIn(frozenset(("t1 = conv3x3_relu I1 K1; out t1", "t1 = conv3x3 I1 K1; t2 = relu t1; out t2")), sides)
        self.assertIn(frozenset(("t1 = average_pool I1; out t1", "t1 = pool_kernel; t2 = conv3x3 I1 t1; out t2")), sides)

    def test_a_format_can_be_written_to_a_file(self):
        told = self.espalier("show", "run", "--format", "rules")
        self.espalier("show", "run", "--format", "rules", "-o", "rules.json")
        self.assertEqual((self.folder / "rules.json").read_text(), told.stdout)
        self.assertEqual(self.espalier("show", "run", "-o", "rules.txt").code, INVALID_INPUT)

    def test_rules_are_verified_again_with_other_sizes(self):
        result = self.espalier("verify", "run", "--json")
        self.assertEqual(result.code, DONE, result.text)


class Matrices:
    """Rules about matrices, evaluated on whole numbers: values with the places where they were put together, by axis."""

    def __init__(self, rule: dict):
        random = np.random.default_rng(5)
        sizes = {}
        self.rule, self.inputs = rule, {}
        for name, one in rule["inputs"].items():
            dims = [sizes.setdefault(word, 2 + len(sizes)) for word in one.get("dims", [])]
            self.inputs[name] = (random.integers(-9, 9, dims).astype(object), ([], []))

    def side(self, which: str) -> list:
        values = dict(self.inputs)
        for op in self.rule[which]["operators"]:
            made = getattr(self, op["op"])(*(values[name] for name in op["inputs"]))
            values.update(zip(op["outputs"], made if op["op"].startswith("split") else [made]))
        return [values[name][0] for name in self.rule[which]["outputs"]]

    matmul = staticmethod(lambda a, b: (a[0] @ b[0], (a[1][0], b[1][1])))
    add = staticmethod(lambda a, b: (a[0] + b[0], a[1] if a[1] == b[1] else ([], [])))
    mul = staticmethod(lambda a, b: (a[0] * b[0], a[1] if a[1] == b[1] else ([], [])))
    scale = staticmethod(lambda a, s: (a[0] * s[0], a[1]))
    relu = staticmethod(lambda a: (np.maximum(a[0], 0), a[1]))
    transpose = staticmethod(lambda a: (a[0].T, a[1][::-1]))
    transpose_copy = transpose

    @staticmethod
    def concat(a, b, axis: int):
        size, cuts = a[0].shape[axis], [a[1][i] if a[1][i] == b[1][i] else [] for i in (0, 1)]
        cuts[axis] = a[1][axis] + [size + one for one in b[1][axis]] + [size]
        return np.concatenate([a[0], b[0]], axis), tuple(cuts)

    @staticmethod
    def split(a, axis: int) -> list:
        at = a[1][axis][-1]
        left, right = list(a[1]), list(a[1])
        left[axis] = [one for one in a[1][axis][:-1] if one < at]
        right[axis] = [one - at for one in a[1][axis][:-1] if one > at]
        return list(zip(np.split(a[0], [at], axis), (tuple(left), tuple(right))))

    concat2_0 = classmethod(lambda cls, a, b: cls.concat(a, b, 0))
    concat2_1 = classmethod(lambda cls, a, b: cls.concat(a, b, 1))
    split_0 = classmethod(lambda cls, a: cls.split(a, 0))
    split_1 = classmethod(lambda cls, a: cls.split(a, 1))


class Aligned(SubstitutionCase):
    def test_outputs_of_both_sides_stand_in_the_same_order(self):
        self.finished(self.search(self.yaml(3), threads=2))
        self.assertEqual(self.espalier("show", "run", "--format", "rules", "-o", "rules.json").code, DONE)
        compared = several = 0
        for rule in json.loads((self.folder / "rules.json").read_text())["rules"]:
            operators = {one["op"] for which in ("left", "right") for one in rule[which]["operators"]}
            if rule["verified"] != "proved" or not all(hasattr(Matrices, op) for op in operators):
                continue
            matrices = Matrices(rule)
            left, right = matrices.side("left"), matrices.side("right")
            self.assertEqual(len(left), len(right))
            self.assertTrue(all(np.array_equal(a, b) for a, b in zip(left, right)), rule)
            compared += 1
            several += len(left) > 1
        self.assertGreater(compared, 100)
        self.assertGreater(several, 10)


class Refusals(SubstitutionCase):
    def test_wrong_keys_are_refused_at_their_place(self):
        for text, place, words in (
            ("problem: {kind: substitution, space: tasso}", "1:38", "taso"),
            ("problem: {kind: substitution, max_ops: 9}", "1:40", "1 to 5"),
            ("problem: {kind: substitution, order: some}", "1:38", "all"),
            ("problem: {kind: substitution}\nverify: {tests: 3}", "2:", "verify.tests"),
        ):
            with self.subTest(text=text):
                result = self.espalier("check", self.file("wrong.yaml", text + "\nresults: {path: r}\n"))
                self.assertEqual(result.code, INVALID_INPUT, result.text)
                self.assertIn(f"wrong.yaml:{place}", result.text)
                self.assertIn(words, result.text)


if __name__ == "__main__":
    harness.main()
