#!/usr/bin/python3
"""What a run would do on more nodes, from the command line: numbers that must hold whatever was measured, and clear refusals."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import DONE, INVALID_INPUT, Case


class SimulateCase(Case):
    def run_of(self, name: str, *arguments) -> Path:
        self.finished(self.search(self.experiment("T1", granularity=2), "--results", name, *arguments, threads=2))
        return self.folder / name


class Predicted(SimulateCase):
    def test_every_policy_on_every_number_of_nodes(self):
        run = self.run_of("run")
        result = self.espalier("simulate", run, "--nodes", "1,4,16", "--threads", "2", "--policy", "static,omp-dynamic,hybrid", "--json")

        self.assertEqual(result.code, DONE, result.text)
        told = result.json
        self.assertEqual({(one["policy"], one["nodes"]) for one in told["predictions"]},
                         {(policy, nodes) for policy in ("static", "omp-dynamic", "hybrid") for nodes in (1, 4, 16)})
        for one in told["predictions"]:
            self.assertTrue(0 < one["efficiency"] <= 1 + 1e-9, one)
            self.assertGreaterEqual(one["makespan"] * one["nodes"] * one["threads"], told["work_seconds"] * (1 - 1e-9))
            self.assertGreaterEqual(one["makespan"], told["critical_path"] * (1 - 1e-9))
            self.assertTrue(0 <= one["master_load"] <= 1)
        self.assertEqual([limit["policy"] for limit in told["limits"]], ["static", "omp-dynamic", "hybrid"])

    def test_resampled_work_is_said_and_is_so_many_times_the_measured(self):
        run = self.run_of("run")
        told = self.espalier("simulate", run, "--nodes", "64", "--threads", "4", "--work", "x50", "--json").json

        self.assertEqual(told["work"], 50)
        self.assertAlmostEqual(told["work_seconds"], 50 * told["measured_seconds"], delta=1e-6 * told["work_seconds"])
        self.assertTrue(any(remark.startswith("resampled") for remark in told["remarks"]), told["remarks"])
        self.assertIn("resampled: x50", self.espalier("simulate", run, "--nodes", "64", "--work", "x50").stdout)

    def test_the_same_seed_gives_the_same_answer(self):
        run = self.run_of("run")
        predicted = lambda *arguments: [(one["makespan"], one["messages"]) for one in
                                        self.espalier("simulate", run, "--nodes", "8,32", "--work", "x20", "--json", *arguments).json["predictions"]]

        self.assertEqual(predicted("--seed", "7"), predicted("--seed", "7"))


class BadInput(SimulateCase):
    def test_mistakes_are_named(self):
        run = self.run_of("run")
        for arguments, word in ((("--nodes", "0"), "0"), (("--nodes", "many"), "many"), (("--policy", "magic"), "magic"),
                                (("--work", "x0"), "x0"), (("--latency", "soon"), "soon"), (("--window", "90s:91s"), "window")):
            with self.subTest(arguments):
                self.expect_refused(self.espalier("simulate", run, *arguments), word, code=INVALID_INPUT)
        self.expect_refused(self.espalier("simulate", self.folder / "nothing"), "not a run folder", code=INVALID_INPUT)


if __name__ == "__main__":
    harness.main()
