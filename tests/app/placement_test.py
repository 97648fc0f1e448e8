#!/usr/bin/python3
"""Placement and reduction synthesis from the command line: the same programs for all ranks and threads, the numbers of the
literature, explanations, and clear refusals."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import DONE, INVALID_INPUT, Case

TWO_LEVELS = """problem:
  kind: placement
  hierarchy: [{name: node, size: 4, bandwidth: 8GB/s, latency: 10us}, {name: gpu, size: 16, bandwidth: 270GB/s, latency: 2us}]
  axes: {data: 16, shards: 4}
  reductions: [{axes: [data], payload: 1GiB, weight: 1}]
  max_steps: %d
results: {path: run}
"""


class PlacementCase(Case):
    def yaml(self, max_steps: int = 5) -> Path:
        return self.file("experiment.yaml", TWO_LEVELS % max_steps)

    def programs(self, run: str = "run") -> set:
        found = self.show(run)["results"]
        keys = {(one["key"], f"{one['predicted_us']:.9e}", json.dumps(one["program"])) for one in found}
        self.assertEqual(len(keys), len(found), "a program was stored twice")
        return keys


class Search(PlacementCase):
    def test_the_summary_has_the_numbers(self):
        result = self.finished(self.search(self.yaml()))
        self.assertEqual(result.code, DONE, result.text)
        told = result.json["placement"]
        # placements (1, 16), (2, 8), (4, 4): one level has 3 programs, two have 93
        self.assertEqual((told["placements"], told["pairs"], told["programs"]), (3, 3, 3 + 93 + 93))
        self.assertAlmostEqual(told["improved_share"], 2 / 3)
        self.assertTrue(1 < told["mean_speedup"] <= told["best_speedup"] < 2)

    def test_the_same_programs_for_all_ranks_and_threads_and_after_a_stop(self):
        yaml = self.yaml()
        self.finished(self.search(yaml))
        expected = self.programs()
        for ranks, threads in ((1, 2), (2, 1), (3, 2)):
            with self.subTest(ranks=ranks, threads=threads):
                folder = f"run-{ranks}-{threads}"
                self.finished(self.search(yaml, "--results", folder, ranks=ranks, threads=threads))
                self.assertEqual(self.programs(folder), expected)
        self.finished(self.search(yaml, "--results", "stopped", "--max-nodes", "20"))
        self.finished(self.search(yaml, "--results", "stopped"))
        self.assertEqual(self.programs("stopped"), expected)

    def test_branch_and_bound_finds_the_best_only(self):
        yaml = self.yaml()
        self.finished(self.search(yaml))
        best = min(one["predicted_us"] for one in self.show()["results"])
        self.finished(self.search(yaml, "--results", "best", "--set", "search.best_only=true"))
        kept = self.show("best")["results"]
        self.assertEqual({one["predicted_us"] for one in kept}, {best})


class Show(PlacementCase):
    def test_a_key_is_the_same_program_as_its_rank(self):
        self.finished(self.search(self.yaml()))
        found = self.show()["results"]
        costs = [one["predicted_us"] for one in found]
        self.assertLess(len(set(costs)), len(costs), "some programs cost the same")
        for one in found[:40]:
            by_key = self.espalier("show", "run", "--program", one["key"], "--format", "json")
            self.assertEqual((by_key.json["id"], by_key.json["key"]), (one["id"], one["key"]), by_key.text)

    def test_programs_are_shown_explained_drawn_and_verified(self):
        self.finished(self.search(self.yaml()))
        shown = self.espalier("show", "run", "--top", "5").stdout
        self.assertIn("improved over one collective", shown)
        self.assertIn("not measurements", shown)
        one = json.loads(self.espalier("show", "run", "--program", "4", "--format", "json").stdout)
        self.assertEqual(one["program"], [["node", "InsideGroup", "ReduceScatter"], ["node", "Parallel(root)", "AllReduce"],
                                          ["node", "InsideGroup", "AllGather"]])
        for result in self.show()["results"]:
            self.assertEqual([result[key] for key in ("verified", "executed", "cost_source", "optimality")], ["random", "no", "estimated", "none"])
        explained = self.espalier("show", "run", "--program", "4", "--explain").stdout
        self.assertIn("2 of 16 chunks", explained)
        self.assertIn("bytes over the busiest link", explained)
        self.assertTrue(self.espalier("show", "run", "--program", "4", "--format", "svg").stdout.startswith("<svg"))
        self.expect_refused(self.espalier("show", "run", "--program", "4", "--format", "dot"), "text, json, svg")
        self.expect_refused(self.espalier("show", "run", "--program", "999"), "use 1 to 189")
        checked = self.espalier("verify", "run", "--json")
        self.assertEqual((checked.code, checked.json["wrong"]), (DONE, 0), checked.text)

    def test_a_report_has_its_drawings(self):
        self.finished(self.search(self.yaml(3)))
        result = self.espalier("report", "run", "-o", "page.html", "--nodes", "none")
        self.assertEqual(result.code, DONE, result.text)
        self.assertIn("ReduceScatter", (self.folder / "page.html").read_text())


class BadInput(PlacementCase):
    def refused(self, text: str, *words: str) -> None:
        self.expect_refused(self.espalier("search", self.file("bad.yaml", text)), *words, code=INVALID_INPUT)

    def test_every_mistake_has_its_place(self):
        good = TWO_LEVELS % 5
        self.refused(good.replace("shards: 4", "shards: 2"), "bad.yaml:4:9", "multiply to 32, the levels to 64 devices")
        self.refused(good.replace("size: 4,", "size: 0,"), "bad.yaml:3:", "out of range")
        self.refused(good.replace("[data]", "[dta]"), "bad.yaml:5:", "'dta'", "did you mean 'data'?")
        self.refused(good.replace("1GiB", "8B"), "bad.yaml:5:", "a payload of 8B for a group of 16 devices")
        self.refused(good.replace("size: 16", "size: [16, 8]"), "bad.yaml:3:", "uneven")


if __name__ == "__main__":
    harness.main()
