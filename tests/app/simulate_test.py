#!/usr/bin/python3
"""What a run would do on more nodes, from the command line: numbers that must hold whatever was measured, and clear refusals."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import DONE, INVALID_INPUT, USAGE, Case


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


class Advice(SimulateCase):
    def told(self, run: Path, *arguments) -> dict:
        result = self.espalier("simulate", run, "--json", *arguments)
        self.assertEqual(result.code, DONE, result.text)
        return result.json

    def test_the_most_nodes_at_or_above_the_target_are_recommended(self):
        run = self.run_of("run")
        for target in (0.5, 0.8):
            told = self.told(run, "--nodes", "1,2,4,64,4096", "--threads", "1", "--target-efficiency", target)
            enough = [one for one in told["predictions"] if one["efficiency"] >= target]
            limit, chosen = told["limits"][0], max(enough, key=lambda one: one["nodes"])
            self.assertEqual(told["target_efficiency"], target)
            self.assertEqual(limit["recommended_nodes"], chosen["nodes"])
            self.assertAlmostEqual(limit["recommended_node_hours"], chosen["nodes"] * chosen["makespan"] / 3600)
        text = self.espalier("simulate", run, "--nodes", "1,4,65536", "--threads", "1").stdout
        self.assertIn("at or above 80 % efficiency", text)
        self.assertNotIn("more nodes help", text)

    def test_a_duration_takes_ramp_up_out_of_the_verdict(self):
        run = self.run_of("run")
        nodes = ("--nodes", "1,256", "--threads", "1")
        once, hour = self.told(run, *nodes), self.told(run, *nodes, "--duration", "1h")

        self.assertLess(once["predictions"][1]["efficiency"], 0.8)
        self.assertGreater(hour["predictions"][1]["efficiency"], once["predictions"][1]["efficiency"])
        self.assertEqual(hour["duration"], 3600)
        for one in hour["predictions"]:
            self.assertAlmostEqual(one["work"] * hour["measured_seconds"], 3600 * one["nodes"], delta=1)
            self.assertGreaterEqual(one["makespan"], 3600)

    def test_the_scheduler_and_the_network_can_be_varied(self):
        run = self.run_of("run")
        nodes = ("--nodes", "16", "--threads", "1", "--work", "x20")
        plain = self.told(run, *nodes)["predictions"][0]
        changed = lambda *keys: self.told(run, *nodes, *(part for key in keys for part in ("--set", key)))["predictions"][0]

        self.assertNotEqual(changed("cluster.budget=5ms")["messages"], plain["messages"])
        self.assertNotEqual(changed("cluster.group=4", "cluster.commit=50ms")["messages"], plain["messages"])
        self.assertGreater(changed("network.latency=20ms")["makespan"], plain["makespan"])
        self.assertGreater(changed("network.bandwidth=10kB/s")["makespan"], plain["makespan"])
        self.assertGreater(changed("network.message=1ms")["master_load"], plain["master_load"])


class BadInput(SimulateCase):
    def test_mistakes_are_named(self):
        run = self.run_of("run")
        for arguments, word in ((("--nodes", "0"), "0"), (("--nodes", "many"), "many"), (("--policy", "magic"), "magic"),
                                (("--work", "x0"), "x0"), (("--latency", "soon"), "soon"), (("--window", "90s:91s"), "window")):
            with self.subTest(arguments):
                self.expect_refused(self.espalier("simulate", run, *arguments), word, code=INVALID_INPUT)
        for value, words in (("cluster.bugdet=50ms", ("no key 'cluster.bugdet'", "did you mean 'cluster.budget'?")),
                             ("problem.tree=T3", ("no key 'problem.tree'", "is measured")), ("network.bandwidth=fast", ("not a bandwidth", "12GB/s")),
                             ("cluster.budget=soon", ("--set cluster.budget=soon",))):
            with self.subTest(value):
                self.expect_refused(self.espalier("simulate", run, "--set", value), *words, code=INVALID_INPUT)
        self.expect_refused(self.espalier("simulate", run, "--work", "x2", "--duration", "1h"), "--duration", code=USAGE)
        self.expect_refused(self.espalier("simulate", run, "--target-efficiency", "80"), "--target-efficiency", code=USAGE)
        self.expect_refused(self.espalier("simulate", run, "--duration", "0s"), "--duration 0s", code=INVALID_INPUT)
        self.expect_refused(self.espalier("simulate", self.folder / "nothing"), "not a run folder", code=INVALID_INPUT)


if __name__ == "__main__":
    harness.main()
