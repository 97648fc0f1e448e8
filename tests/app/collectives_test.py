#!/usr/bin/python3
"""`espalier collectives`: programs of a placement search on real ranks, their sums, their times; calibration; bad input."""

import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import DONE, ESPALIER, Case, launcher

MPI_YIELD = os.environ.get("ESPALIER_MPI_YIELD", "")
SIZES = ("--size", "64B..1KiB", "--repeats", "6")      # 64, 256, 1024


class Placements(Case):
    """A search with 2 x 2 devices in the folder `run`."""

    def setUp(self):
        super().setUp()
        self.search_placement()

    def search_placement(self, request: str = "all_reduce", segments: str = "[1]", name: str = "run"):
        experiment = self.file(f"{name}.yaml", f"""
problem:
  kind: placement
  hierarchy:
    - {{name: node, size: 2, bandwidth: 1GB/s, latency: 10us}}
    - {{name: core, size: 2, bandwidth: 10GB/s, latency: 1us}}
  axes: {{data: 4}}
  reductions: [{{axes: [data], payload: 256B, request: {request}}}]
  segments: {segments}
results: {{path: {name}}}
""")
        result = self.espalier("search", experiment, "--threads", 1)
        self.assertEqual(result.code, DONE, result.text)

    def collectives(self, *arguments, ranks: int = 4):
        """With the preload waiting ranks yield: here are more of them than cores."""
        preload = ["-env", "LD_PRELOAD", MPI_YIELD] if MPI_YIELD else []
        return self.finished(self.start(*launcher(ranks), *preload, ESPALIER, "collectives", *arguments))


class Measured(Placements):
    def test_the_best_programs_are_executed_checked_and_compared(self):
        result = self.collectives("run", "--top", "3", *SIZES, "--json")

        self.assertEqual(result.code, DONE, result.text)
        report = result.json
        self.assertEqual((report["ranks"], report["element"], report["wrong"]), (4, "f32", 0))
        (task,) = report["tasks"]
        self.assertEqual([size["bytes"] for size in task["sizes"]], [64, 256, 1024])
        for size in task["sizes"]:
            self.assertEqual([program["id"] for program in size["programs"]], [1, 2, 3])
            self.assertTrue(all(program["right"] for program in size["programs"] + size["mpi"]))
            self.assertEqual(size["mpi"][0]["name"], "MPI_Allreduce")
            chosen = size["chosen"]["id"]
            medians = {program["id"]: program["choice"]["median_us"] for program in size["programs"]}
            self.assertEqual(medians[chosen], min(medians.values()))
            reported = [program["id"] for program in size["programs"] if "report" in program]
            self.assertIn(chosen, reported)
            self.assertLessEqual(set(size["chosen"]["ties"]), set(reported) - {chosen})

    def test_a_winner_is_never_within_the_noise(self):
        report = self.collectives("run", "--top", "2", *SIZES, "--json").json

        for size in report["tasks"][0]["sizes"]:
            program = next(one for one in size["programs"] if "report" in one)["report"]
            native = size["mpi"][0]["report"]
            overlap = program["low_us"] <= native["high_us"] and native["low_us"] <= program["high_us"]
            self.assertEqual(size["chosen"]["default"]["within_noise"], overlap)

    def test_the_prediction_at_the_payload_of_the_experiment_is_the_stored_one(self):
        report = self.collectives("run", "--top", "1", *SIZES, "--json").json

        stored = self.show()["results"][0]
        size = next(one for one in report["tasks"][0]["sizes"] if one["bytes"] == 256)
        self.assertAlmostEqual(size["programs"][0]["predicted_us"], stored["predicted_us"], places=3)

    def test_the_table_is_printed_once(self):
        result = self.collectives("run", "--top", "2", "--size", "64B", "--repeats", "6", "--element", "i32")

        self.assertEqual((result.code, result.stdout.count("chosen:")), (DONE, 1), result.text)
        self.assertIn("4 ranks on 1 host", result.stdout)
        self.assertRegex(result.stdout, r"(within the noise|faster|slower)")

    def test_other_requests_and_segments(self):
        for request, name in (("reduce_scatter", "MPI_Reduce_scatter_block"), ("all_gather", "MPI_Allgather")):
            with self.subTest(request):
                self.search_placement(request, "[3]", name=request)

                result = self.collectives(request, "--top", "0", "--size", "100B", "--repeats", "6", "--element", "f64", "--json")

                self.assertEqual(result.code, DONE, result.text)
                (task,) = result.json["tasks"]
                self.assertEqual(task["request"], request)
                self.assertEqual(task["sizes"][0]["mpi"][0]["name"], name)
                self.assertTrue(all("3 segments" in program["name"] for program in task["sizes"][0]["programs"]))


class Refused(Placements):
    """One message, from rank 0, and the same code of all ranks."""

    def refuse(self, result, *words):
        self.expect_refused(result, *words)
        self.assertEqual(result.stderr.count("espalier: "), 1, result.text)

    def test_another_number_of_ranks(self):
        self.refuse(self.collectives("run", *SIZES, ranks=2), "4 devices", "2 ranks", "mpiexec -n 4")
        self.refuse(self.espalier("collectives", "run", *SIZES), "mpiexec -n 4")

    def test_a_folder_that_is_no_run(self):
        self.refuse(self.collectives("nowhere", *SIZES), "nowhere")

    def test_a_run_of_another_problem(self):
        self.espalier("search", self.experiment(name="uts.yaml"), "--threads", 1, "--max-nodes", 1000, "--results", "tree")

        self.refuse(self.collectives("tree", *SIZES), "uts", "placement")

    def test_bad_arguments(self):
        for arguments, words in {("--size", "4KiB..1KiB"): ("larger",), ("--size", "much"): ("much", "64KiB"),
                                 ("--element", "f33"): ("f33", "f32"), ("--repeats", "3"): ("at least 6",)}.items():
            with self.subTest(arguments):
                self.refuse(self.collectives("run", *arguments), *words)


class NeverComes(Placements):
    def test_ranks_give_up_after_the_time_that_the_environment_says(self):
        for arguments in (("run", *SIZES), ("--calibrate", "-o", "hardware.yaml")):
            with self.subTest(arguments):
                job = self.expect_ranks_to_give_up("the ranks had not found each other after 2s", "collectives", *arguments, env={"ESPALIER_START": "2s"})
                job.end()

    def test_a_time_that_is_none_is_reported_once(self):
        result = self.finished(self.start(*launcher(4), ESPALIER, "collectives", "run", *SIZES, env={"ESPALIER_START": "later"}))

        self.expect_refused(result, "ESPALIER_START=later")
        self.assertEqual(result.stderr.count("ESPALIER_START=later"), 1, result.text)


class Calibrated(Placements):
    def test_a_hierarchy_is_written_that_an_experiment_can_use(self):
        result = self.collectives("--calibrate", "-o", "hardware.yaml", "--size", "64B..4KiB", "--repeats", "6", ranks=2)

        self.assertEqual(result.code, DONE, result.text)
        text = (self.folder / "hardware.yaml").read_text()
        self.assertEqual(len(re.findall(r"^  - \{name: \w+, size: 2, bandwidth: [\d.]+[kMG]B/s, latency: [\d.]+us, links: 1\}$", text, re.MULTILINE)), 1, text)
        for kind in ("point-to-point", "AllReduce", "Reduce", "ReduceScatter", "AllGather", "Broadcast"):
            self.assertRegex(text, rf"# +core +{kind} ")
        levels = text[text.index("hierarchy:"):].replace("\n", "\n  ")
        experiment = self.file("again.yaml", f"problem:\n  kind: placement\n  {levels}\n  axes: {{data: 2}}\nresults: {{path: again}}\n")
        self.assertEqual(self.espalier("check", experiment).code, DONE, experiment.read_text())
        self.assertEqual([file.name for file in self.folder.glob("*.tmp")], [])

    def test_every_collective_of_a_level_is_fitted(self):
        told = self.collectives("--calibrate", "-o", "hardware.yaml", "--size", "64B..4KiB", "--repeats", "6", "--json", ranks=2).json

        (level,) = told["levels"]
        self.assertEqual((level["name"], level["size"]), ("core", 2))
        self.assertEqual(set(level["fits"]), {"point-to-point", "AllReduce", "Reduce", "ReduceScatter", "AllGather", "Broadcast"})
        self.assertTrue(all(fit["alone"]["latency_us"] >= 0 for fit in level["fits"].values()))

    def test_one_rank_a_missing_folder_and_no_file_are_refused(self):
        self.expect_refused(self.espalier("collectives", "--calibrate", "-o", "hardware.yaml"), "mpiexec")
        self.expect_refused(self.collectives("--calibrate", "-o", "nowhere/hardware.yaml", ranks=2), "nowhere")


if __name__ == "__main__":
    harness.main()
