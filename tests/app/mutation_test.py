#!/usr/bin/python3
"""Mutants of linear programs from the command line: counts, shares and masks against a brute force that is written from the definitions,
the same answer for all ranks and threads and after stops, what scripts read, and clear refusals."""

import itertools
import json
import math
import sys
import zlib
from collections import Counter
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import DONE, INVALID_INPUT, RESUMABLE, Case

NAMED10 = [(0, "low", 2, "high"), (2, "high", 0, "low"), (0, "low", 3, "high"), (3, "high", 0, "low"), (1, "low", 2, "low"),
           (1, "low", 3, "low"), (2, "low", 2, "high"), (2, "high", 2, "low"), (3, "low", 3, "high"), (3, "high", 3, "low")]
WINDOWS = list(itertools.product((1, 2), (1, 2), (0, 1, 2)))     # stride, dilation, padding


def moves(family: str, rank: int) -> list:
    """N2H, H2N, N2W, W2N, C2H, C2W, and the sorts of H and W by parity with their inverses; or all."""
    if family == "named10":
        return NAMED10 if rank == 4 else []
    ends = list(itertools.product(range(rank), ("low", "high")))
    return [(a, p, b, q) for a, p in ends for b, q in ends if (a, p) != (b, q) and not (a == b and p == q)] + ["transpose"] * (rank == 2)


def applied(move, shape: tuple, tensor: dict):
    """A tensor as a map from positions to whatever stands there; nothing if the move is not possible or changes nothing."""
    if move == "transpose":
        out_shape, out = (shape[1], shape[0]), {(j, i): value for (i, j), value in tensor.items()}
        return None if (out_shape, out) == (shape, tensor) else (out_shape, out)
    a, part, b, place = move
    if shape[a] % 2:
        return None
    q = shape[a] // 2
    sizes = list(shape)
    sizes[a] = q
    rest = sizes[b]
    sizes[b] *= 2
    out = {}
    for position, value in tensor.items():
        to = list(position)
        digit, to[a] = divmod(to[a], q) if part == "high" else (to[a] % 2, to[a] // 2)
        to[b] = digit * rest + to[b] if place == "high" else 2 * to[b] + digit
        out[tuple(to)] = value
    return None if (tuple(sizes), out) == (shape, tensor) else (tuple(sizes), out)


def frozen(shape: tuple, tensor: dict) -> tuple:
    return shape, tuple(tensor[at] for at in itertools.product(*map(range, shape)))


def chains(shape: tuple, tensor: dict, family: str, longest: int) -> list:
    """By length: (shape, values) of what chains of moves make, with the number of chains."""
    layer = {frozen(shape, tensor): (shape, tensor, 1)}
    out = [layer]
    for _ in range(longest):
        following = {}
        for sizes, values, ways in layer.values():
            for move in moves(family, len(shape)):
                made = applied(move, sizes, values)
                if made is not None:
                    key = frozen(*made)
                    following[key] = (*made, ways + following.get(key, (0, 0, 0))[2])
        out.append(layer := following)
    return out


def convolved(x: tuple, w: tuple, windows: tuple):
    (n, c, *image), (o, i, *kernel) = x[0], w[0]
    sizes = [image[k] + 2 * windows[k][2] - (windows[k][1] * (kernel[k] - 1) + 1) for k in range(2)]
    if c != i or min(sizes) < 0:
        return None
    shape = (n, o, *(size // windows[k][0] + 1 for k, size in enumerate(sizes)))
    taps = list(itertools.product(range(c), range(kernel[0]), range(kernel[1])))

    def element(at: tuple):
        def positions():
            for channel, u, v in taps:
                y = at[2] * windows[0][0] + u * windows[0][1] - windows[0][2]
                z = at[3] * windows[1][0] + v * windows[1][1] - windows[1][2]
                if 0 <= y < image[0] and 0 <= z < image[1]:
                    yield frozenset((x[1][at[0], channel, y, z], w[1][at[1], channel, u, v]))
        return frozenset(positions())
    return shape, {at: element(at) for at in itertools.product(*map(range, shape))}


def multiplied(a: tuple, b: tuple, _windows):
    (m, k), (inner, n) = a[0], b[0]
    if k != inner:
        return None
    return (m, n), {(i, j): frozenset(frozenset((a[1][i, t], b[1][t, j])) for t in range(k)) for i in range(m) for j in range(n)}


class BruteForce:
    """Every program of at most `longest` ops, an element of the output as the set of products that it sums."""

    def __init__(self, op: str, sizes: list, windows: tuple, family: str, longest: int):
        self.compute = convolved if op == "conv" else multiplied
        inputs = [(tuple(size), {at: (name, at) for at in itertools.product(*map(range, size))}) for name, size in zip("XW", sizes)]
        self.shape, self.original = self.compute(*inputs, windows)
        self.family, self.longest = family, longest
        self.by_length, self.functions = Counter(), Counter()
        arranged = [chains(*one, family, longest - 1) for one in inputs]
        for first, second in (arranged, arranged[::-1]):
            for i, j in itertools.product(range(longest), repeat=2):
                if i + j < longest:
                    self.add(first[i], second[j], i + j)

    def add(self, first: dict, second: dict, before: int):
        for a, b in itertools.product(first.values(), second.values()):
            for windows in itertools.product(WINDOWS, repeat=2) if self.compute is convolved else (None,):
                made = self.fitting(a, b, windows)
                if made is None:
                    continue
                for after, layer in enumerate(chains(*made, self.family, self.longest - 1 - before)):
                    for shape, values, ways in layer.values():
                        if shape == self.shape:
                            self.by_length[before + after + 1] += a[2] * b[2] * ways
                            self.functions[frozen(shape, values)] += a[2] * b[2] * ways

    def fitting(self, a: tuple, b: tuple, windows):
        """Only what has as many elements as the output can be brought into its shape."""
        if self.compute is convolved:
            out = [a[0][2 + k] + 2 * windows[k][2] - (windows[k][1] * (b[0][2 + k] - 1) + 1) for k in range(2)]
            if min(out) < 0 or a[0][0] * b[0][0] * math.prod(o // windows[k][0] + 1 for k, o in enumerate(out)) != math.prod(self.shape):
                return None
        return self.compute(a, b, windows)

    def told(self) -> dict:
        expected = frozen(self.shape, self.original)[1]
        shares, masks = {}, Counter()
        for (_, values), programs in self.functions.items():
            mask = bytes(a == b for a, b in zip(values, expected))
            share = str(Fraction(sum(mask), len(mask)))
            tally = shares.setdefault(share, {"programs": 0, "functions": 0})
            tally["programs"] += programs
            tally["functions"] += 1
            if any(mask):
                masks[share, f"{zlib.crc32(mask):08x}"] += programs
        return {"programs": sum(self.by_length.values()), "by_length": [self.by_length[i + 1] for i in range(self.longest)],
                "functions": len(self.functions), "equal_programs": shares.get("1", {"programs": 0})["programs"], "by_share": shares,
                "masks": sorted([share, crc, programs] for (share, crc), programs in masks.items())}


EXPERIMENT = """problem:
  kind: mutation
  program: {inputs: {X: %s, W: %s}, ops: [{out: Y, op: %s, in: [X, W]%s}], outputs: [Y]}
  family: %s
  max_ops: %d
results: {path: run}
"""
SAME = ((1, 1, 1), (1, 1, 1))
DILATED = ((1, 2, 2), (1, 2, 2))
MATRICES = ("matmul", [[2, 4], [4, 2]], None)


class MutationCase(Case):
    def yaml(self, op: str, sizes: list, windows, family: str = "named10", longest: int = 3) -> Path:
        attributes = ""
        if windows is not None:
            attributes = "".join(f", {name}: [{h}, {w}]" for name, h, w in zip(("stride", "dilation", "padding"), *windows))
        return self.file("experiment.yaml", EXPERIMENT % (*sizes, op, attributes, family, longest))

    def told(self, yaml: Path, *arguments, **layout) -> dict:
        result = self.finished(self.search(yaml, *arguments, **layout))
        self.assertEqual(result.code, DONE, result.text)
        return result.json["mutation"]


class Counts(MutationCase):
    def expect_brute_force(self, *case):
        told = self.told(self.yaml(*case), "--force")
        expected = BruteForce(*case).told()
        told["masks"] = sorted([one["share"], one["crc32"], one["programs"]] for one in told["masks"])
        for share in ("0", "1"):
            expected["by_share"].setdefault(share, {"programs": 0, "functions": 0})
        self.assertEqual(told, expected)

    def test_the_published_cases(self):
        # programs, functions, and both of share 1/2: two independent brute forces agreed on these long ago
        image = [[2, 2, 4, 4], [2, 2, 3, 3]]
        for family, programs, functions in (("named10", 45, 25), ("generic", 69, 49)):
            with self.subTest(family=family):
                told = self.told(self.yaml("conv", image, SAME, family, 2), "--force")
                self.assertEqual((told["programs"], told["functions"], told["equal_programs"]), (programs, functions, 1))
                self.assertEqual(told["by_share"]["1/2"], {"programs": 8, "functions": 4})
                self.assertEqual(set(told["by_share"]), {"0", "1/2", "1"})
        told = self.told(self.yaml(*MATRICES, "generic", 3), "--force")
        self.assertEqual((told["programs"], told["functions"], told["equal_programs"]), (162, 28, 56))
        self.assertEqual(told["by_share"]["1/2"], {"programs": 18, "functions": 1})

    def test_convolutions_as_brute_force_counts_them(self):
        for case in (("conv", [[2, 1, 2, 4], [2, 1, 3, 3]], SAME, "named10", 3), ("conv", [[1, 2, 4, 2], [2, 2, 1, 3]], DILATED, "named10", 3),
                     ("conv", [[2, 2, 2, 2], [1, 2, 2, 2]], ((2, 1, 1), (1, 1, 0)), "named10", 3),
                     ("conv", [[2, 1, 2, 2], [1, 1, 1, 3]], ((1, 1, 0), (1, 1, 1)), "generic", 2)):
            with self.subTest(case=case):
                self.expect_brute_force(*case)

    def test_products_of_matrices_as_brute_force_counts_them(self):
        for sizes, longest in (([[2, 4], [4, 2]], 3), ([[4, 4], [4, 4]], 2), ([[2, 3], [3, 6]], 3)):
            with self.subTest(sizes=sizes):
                self.expect_brute_force("matmul", sizes, None, "generic", longest)


class Search(MutationCase):
    CASE = ("conv", [[2, 2, 4, 4], [2, 2, 3, 3]], SAME, "named10", 3)

    def test_the_same_answer_for_all_ranks_and_threads_and_after_a_stop(self):
        yaml = self.yaml(*self.CASE)
        expected = self.told(yaml)
        programs = {(one["key"], one["program"]) for one in self.show("run")["results"]}
        for ranks, threads in ((1, 2), (2, 1), (4, 2)):
            with self.subTest(ranks=ranks, threads=threads):
                folder = f"run-{ranks}-{threads}"
                self.assertEqual(self.told(yaml, "--results", folder, ranks=ranks, threads=threads), expected)
                self.assertEqual({(one["key"], one["program"]) for one in self.show(folder)["results"]}, programs)
        stopped = self.finished(self.search(yaml, "--results", "stopped", "--max-nodes", "20", "--set", "cluster.budget=1ms"))
        self.assertIn(stopped.code, (RESUMABLE, DONE))
        self.assertEqual(self.told(yaml, "--results", "stopped", ranks=2), expected)

    def test_what_is_shown_and_checked_again(self):
        self.told(self.yaml(*self.CASE))
        shown = self.show("run")["results"]
        self.assertEqual(shown[0]["program"], "conv(X, W, stride 1, dilation 1, padding 1)", "the original is its own best mutant")
        self.assertEqual((shown[0]["share"], shown[0]["verified"]), ("1", "counted"))
        self.assertTrue(all(one["verified"] == "partial" for one in shown[1:]))
        one = json.loads(self.espalier("show", "run", "--program", "2", "--format", "json").stdout)
        self.assertEqual(one, {key: shown[1][key] for key in one}, "the list has the same, and what is known besides")
        verified = self.espalier("verify", "run")
        self.assertEqual(verified.code, DONE, verified.text)
        self.assertIn(f"{len(shown)} of {len(shown)}", verified.stdout)


class Refusals(MutationCase):
    def test_what_cannot_be_mutated_is_refused_with_its_place(self):
        good = ("conv", [[2, 2, 4, 4], [2, 2, 3, 3]], SAME)
        text = self.yaml(*good).read_text()
        for old, new, words in (("W: [2, 2, 3, 3]", "W: [2, 3, 3, 3]", ("channels", "3:")),
                                ("W: [2, 2, 3, 3]", "W: [2, 2, 3]", ("'W'", "3 dimensions")),
                                ("W: [2, 2, 3, 3]", "W: [2, 2, K, 3]", ("'K'", "dims")),
                                ("in: [X, W]", "in: [X, X]", ("two different inputs",)),
                                ("in: [X, W]", "in: [X, Z]", ("'Z'", "not an input")),
                                ("outputs: [Y]", "outputs: [X]", ("use [Y]",)),
                                ("X: [2, 2, 4, 4]", "X: [2, 2, 400, 400]", ("elements",)),
                                ("family: named10", "family: [N2H, N3H]", ("'N3H'", "not a move")),
                                ("max_ops: 3", "max_ops: 0", ("out of range",)),
                                ("padding: [1, 1]", "padding: [1, 1, 1]", ("[height, width]",)),
                                ("op: conv", "op: matmul", ("padding",))):
            with self.subTest(new=new):
                self.assertIn(old, text)
                checked = self.espalier("check", str(self.file("bad.yaml", text.replace(old, new))))
                self.assertEqual(checked.code, INVALID_INPUT, checked.text)
                for word in ("bad.yaml:", *words):
                    self.assertIn(word, checked.stderr)


if __name__ == "__main__":
    harness.main()
