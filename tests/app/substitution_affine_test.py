#!/usr/bin/python3
"""Rules of `space: affine` from the command line: their numbers by brute force, each of them in exact fractions, famous ones and wrong ones,
the same answer for all ranks and threads."""

import itertools
import json
import os
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import DONE, INVALID_INPUT, Case

SMALL = """problem: {kind: substitution, space: affine, max_ops: 2, data_ops: 2, constants: [0, 1], operators: [add, mul, clip, relu],
  inputs: {data: 2, scalar: 2, channel: 0, bias: 0, weights: 0}}
results: {path: run}
"""
CONV = """problem: {kind: substitution, space: affine, max_ops: 3, data_ops: 2, constants: [0, 1], operators: [add, mul, div, clip, conv, merge_groups],
  inputs: {data: 1, scalar: 2, channel: 1, bias: 2, weights: 1}}
results: {path: run}
"""
SWISH = """problem: {kind: substitution, space: affine, max_ops: 4, data_ops: 4, to_ops: 1, constants: [0, 3, 6], operators: [add, mul, div, clip, hard_swish],
  inputs: {data: 1, scalar: 0, channel: 0, bias: 0, weights: 0}}
results: {path: run}
"""
CHANNELS, WIDTH, GROUPS = 4, 5, 4


class NoMeaning(Exception):
    pass


def clip(x, low, high):
    if low > high:
        raise NoMeaning
    return min(max(x, low), high)


def sigmoid(x, alpha, beta):
    return clip(alpha * x + beta, 0, 1)


def quotient(a, b):
    if b == 0:
        raise NoMeaning
    return a / b


SCALAR = {"add": lambda a, b: a + b, "mul": lambda a, b: a * b, "div": quotient, "clip": clip, "relu": lambda x: max(x, 0), "hard_sigmoid": sigmoid,
          "hard_swish": lambda x: x * sigmoid(x, Fraction(1, 6), Fraction(1, 2))}


class Weights:
    """By output, input of its group, and tap of a kernel of three."""

    def __init__(self, groups, values):
        self.groups, self.values = groups, values

    def scaled(self, factor):
        size = CHANNELS // self.groups
        return Weights(self.groups, [[[tap * factor(o, o // size * size + i) for tap in taps] for i, taps in enumerate(inputs)]
                                     for o, inputs in enumerate(self.values)])

    def merged(self):
        if self.groups % 2:
            raise NoMeaning
        size = CHANNELS // self.groups
        return Weights(self.groups // 2, [[self.values[o][c % size] if c // size == o // size else [Fraction(0)] * 3
                                           for c in range(o // (2 * size) * 2 * size, (o // (2 * size) + 1) * 2 * size)] for o in range(CHANNELS)])

    def convolve(self, x, bias):
        size = CHANNELS // self.groups
        at = lambda c, column: x[c][column] if 0 <= column < WIDTH else 0
        return [[bias[o] + sum(self.values[o][i][tap] * at(o // size * size + i, column + tap - 1) for i in range(size) for tap in range(3))
                 for column in range(WIDTH)] for o in range(CHANNELS)]


def by_channel(value):
    return value if isinstance(value, list) else [value] * CHANNELS


def computed(op, values):
    name = op["op"]
    if name == "conv":
        return values[1].convolve(values[0], by_channel(values[2] if len(values) > 2 else Fraction(0)))
    if name == "merge_groups":
        return values[0].merged()
    if isinstance(values[0], Weights):
        factor = by_channel(values[1])
        return values[0].scaled((lambda o, c: factor[c]) if name == "scale_inputs" else (lambda o, c: factor[o]))
    if isinstance(values[0], list) and isinstance(values[0][0], list):
        operand = lambda value, c, column: value[c][column] if isinstance(value, list) and isinstance(value[0], list) else by_channel(value)[c]
        return [[SCALAR[name](*(operand(value, c, column) for value in values)) for column in range(WIDTH)] for c in range(CHANNELS)]
    if any(isinstance(value, list) for value in values):
        return [SCALAR[name](*one) for one in zip(*(by_channel(value) for value in values))]
    return SCALAR[name](*values)


def evaluated(side, inputs):
    tensors = dict(inputs)
    for op in side["operators"]:
        tensors[op["outputs"][0]] = computed(op, [tensors[name] if name in tensors else Fraction(name) for name in op["inputs"]])
    return tensors[side["outputs"][0]]


def drawn(rule, rng):
    signs = {one["of"]: one["is"] for one in rule.get("parameters", [])}

    def number(name):
        value = Fraction(rng.randint(1, 96), rng.choice((4, 8, 12)))
        return -value if signs.get(name) == "negative" or (name not in signs and rng.random() < 0.5) else value

    shapes = {"data": lambda name: [[number(name) for _ in range(WIDTH)] for _ in range(CHANNELS)], "scalar": number,
              "channel": lambda name: [number(name) for _ in range(CHANNELS)],
              "weights": lambda name: Weights(GROUPS, [[[number(name) for _ in range(3)]] for _ in range(CHANNELS)])}
    return {name: shapes[one["class"]](name) for name, one in rule["inputs"].items()}


def meaning(side, inputs):
    try:
        return evaluated(side, inputs)
    except NoMeaning:
        return None


def text(side):
    return "; ".join(" ".join((op["op"], *op["inputs"])) for op in side["operators"])


class AffineCase(Case):
    def library(self, yaml: str, run: str = "run", **how) -> list:
        result = self.finished(self.search(self.file("experiment.yaml", yaml), "--results", run, **how))
        self.assertEqual(result.code, DONE, result.text)
        self.told = result.json["substitution"]
        return json.loads(self.espalier("show", run, "--format", "rules").stdout)["rules"]

    def check(self, rules: list, tries: int = 40):
        rng = random.Random(11)
        for rule in rules:
            defined = 0
            for _ in range(tries):
                inputs = drawn(rule, rng)
                left, right = meaning(rule["left"], inputs), meaning(rule["right"], inputs)
                self.assertEqual(left, right, rule)
                defined += left is not None
            self.assertTrue(defined or rule["verified"] != "proved" or tries < 40, rule)

    def sides(self, rules: list) -> set:
        return {(text(one["left"]), text(one["right"]), one.get("condition", "")) for one in rules}


class Numbers(AffineCase):
    def test_the_graphs_of_a_small_space_are_counted_by_brute_force(self):
        rules = self.library(SMALL)
        one, two = small_graphs()
        self.assertEqual(self.told["by_ops"], [one, two])
        self.check(rules)
        self.assertEqual(self.told["proved"], len(rules))

    def test_ranks_and_threads_do_not_matter(self):
        expected = self.sides(self.library(SMALL))
        self.assertTrue(expected)
        self.assertEqual(self.sides(self.library(SMALL, "other", ranks=2, threads=2)), expected)


def small_graphs() -> tuple:
    """Classes of graphs of SMALL with one and with two operators: functions of two tensors and two numbers, as they are on some inputs with
    positive numbers, up to exchanging equal kinds of inputs. A tensor may not be an input again, or constant; only the last may be a
    tensor that was there."""
    rng = random.Random(3)
    points = [(Fraction(rng.randint(-999, 999), 64), Fraction(rng.randint(-999, 999), 64)) for _ in range(24)]
    # all orders of the numbers, and on both sides of 1
    numbers = [(Fraction(a, 32), Fraction(b, 32)) for a, b in ((9, 77), (77, 9), (11, 23), (23, 11), (50, 111), (111, 50), (5, 13), (13, 5))]
    constants = {"c": 0, "d": 1, "0": Fraction(0), "1": Fraction(1)}

    def steps(known):
        scalars = [*constants, "c+c", "c+d", "d+d", "c*c", "c*d", "d*d"]
        for x in known:
            yield ("relu", x)
            for y in known:
                if x <= y:
                    yield from (("add", x, y), ("mul", x, y))
            for p in scalars:
                if p != "0":
                    yield ("add", x, p)
                if p not in "01":
                    yield ("mul", x, p)
            for p, q in itertools.product(scalars, repeat=2):
                yield ("clip", x, p, q)

    def cost(op):
        return 1 + len({p for p in op[1:] if "+" in p or "*" in p})

    def value(name, made, point, number):
        if name in made:
            return made[name]
        if name in "xy":
            return point["xy".index(name)]
        if "+" in name or "*" in name:
            a, b = (number[constants[part]] for part in (name[0], name[2]))
            return a + b if "+" in name else a * b
        return number[constants[name]] if name in "cd" else constants[name]

    def results(graph, number):
        out = []
        for point in points:
            made = {}
            for i, op in enumerate(graph):
                made[f"t{i + 1}"] = SCALAR[op[0]](*(value(name, made, point, number) for name in op[1:]))
            out.append([made[f"t{i + 1}"] for i in range(len(graph))])
        return list(zip(*out))

    def counts(graph):
        for number in numbers:
            try:
                tensors = results(graph, number)
            except NoMeaning:
                continue
            inputs = {tuple(point[i] for point in points) for i in (0, 1)}
            if any(tensor in inputs or len(set(tensor)) == 1 for tensor in tensors):
                continue
            return True
        return False

    def renamed(graph, names):
        def term(name):
            for sign in "+*":
                if sign in name:
                    return sign.join(sorted(names[part] for part in name.split(sign)))
            return names.get(name, name)

        out = []
        for op in graph:
            operands = [term(name) for name in op[1:]]
            if op[0] in ("add", "mul"):
                operands.sort()
            out.append((op[0], *operands))
        return tuple(out)

    def classes(graphs):
        namings = [dict(zip("xycd", (*data, *scalars))) for data in itertools.permutations("xy") for scalars in itertools.permutations("cd")]
        return {min(renamed(graph, names) for names in namings) for graph in graphs}

    one = classes((op,) for op in steps(["x", "y"]) if cost(op) <= 2 and counts((op,)))
    two = classes((a, b) for a in steps(["x", "y"]) if cost(a) == 1 and counts((a,)) for b in steps(["t1", "x", "y"])
                  if cost(b) == 1 and "t1" in b[1:] and counts((a, b)))
    return len(one), len(two)


class Famous(AffineCase):
    def test_what_stands_around_a_convolution_goes_into_it(self):
        rules = self.library(CONV)
        self.check(rules, 12)
        sides = self.sides(rules)
        for left, right in (("conv x W; mul t1 b", "scale_outputs W b; conv x k1"), ("conv x W; add t1 b", "conv x W b"),
                            ("mul x v; conv t1 W", "scale_inputs W v; conv x k1"), ("conv x W b; add t1 p", "add b p; conv x W k1"),
                            ("conv x W", "merge_groups W; conv x k1"), ("merge_groups W; conv x k1", "conv x W")):
            if "merge_groups W" in left + right:
                self.assertTrue({(left, right, ""), (right, left, "")} & sides)
                continue
            self.assertIn((left, right, ""), sides)
        for left, right, _ in sides:      # what is added is missing outside the border
            for one, other in ((left, right), (right, left)):
                self.assertFalse(one.startswith(("add x c", "add x v")) and other.startswith("conv x W"), (left, right))

    def test_hard_swish_is_found_in_the_form_that_models_have(self):
        rules = self.library(SWISH)
        self.check(rules)
        self.assertIn(("add x 3; clip t1 0 6; mul x t2; div t3 6", "hard_swish x", ""), self.sides(rules))

    def test_rules_are_verified_and_proved_again(self):
        self.library(CONV)
        result = self.espalier("verify", "run", "--json")
        self.assertEqual(result.code, DONE, result.text)


class Default(AffineCase):
    """Slow: makes the library that comes with the program again."""

    def test_the_default_library_is_what_the_experiments_give(self):
        if "ESPALIER_TEST_LIBRARY" not in os.environ:
            self.skipTest("slow")
        root = Path(__file__).resolve().parents[2]
        subprocess.run([root / "run/default-rules", "--espalier", harness.ESPALIER, "-o", self.folder / "default.json"], check=True)
        made, stored = (json.loads(path.read_text()) for path in (self.folder / "default.json", root / "config/rules/default.json"))
        self.assertEqual(made, stored)


class Refusals(AffineCase):
    def test_wrong_keys_are_refused_at_their_place(self):
        for words, wrong in (("space: affine", "problem: {kind: substitution, constants: [1]}"),
                             ("not an operator", "problem: {kind: substitution, space: affine, operators: [conv, softmax]}"),
                             ("not a number", "problem: {kind: substitution, space: affine, constants: [pi]}")):
            with self.subTest(words=words):
                result = self.espalier("search", self.file("wrong.yaml", wrong + "\nresults: {path: r}\n"))
                self.assertEqual(result.code, INVALID_INPUT, result.text)
                self.assertIn(words, result.text)


if __name__ == "__main__":
    harness.main()
