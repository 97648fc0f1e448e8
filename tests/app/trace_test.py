#!/usr/bin/python3
"""`espalier trace` on real runs: the metrics keep their identities, tables and comparisons are for scripts too, and what is
wrong with a run is said."""

import csv
import io
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import DONE, INVALID_INPUT, USAGE, Case

COMPARISON_FAILED = 6


class TraceCase(Case):
    def run_of(self, name: str, *arguments, ranks: int = 1, threads: int = 1, tree: str = "T1", granularity: int = 3) -> Path:
        yaml = self.experiment(tree, granularity=granularity)
        self.finished(self.search(yaml, "--results", self.folder / name, *arguments, ranks=ranks, threads=threads))
        return self.folder / name

    def trace(self, *arguments, code: int = DONE):
        result = self.espalier("trace", *arguments)
        self.assertEqual(result.code, code, result.text)
        return result

    def analysed(self, *arguments) -> dict:
        return json.loads(self.trace(*arguments, "--format", "json").stdout)


class Metrics(TraceCase):
    def test_identities_hold_on_real_traces(self):
        for ranks, threads in ((1, 1), (1, 2), (2, 1), (3, 2)):
            with self.subTest(ranks=ranks, threads=threads):
                run = self.run_of(f"run-{ranks}-{threads}", ranks=ranks, threads=threads)
                found = self.analysed(run)
                self.assertEqual(len(found["ranks"]), ranks)
                self.expect_identities(found["efficiency"])
                for rank in found["ranks"]:
                    for thread in rank["threads"]:
                        parts = sum(thread[name] for name in ("expand", "query", "verify", "wait", "other"))
                        self.assertAlmostEqual(parts, found["runtime"], delta=0.02 * found["runtime"])
                self.assertEqual(found["nodes"], harness.PUBLISHED["T1"].nodes)
                phases = {phase["name"]: phase for phase in found["phases"]}
                self.assertGreater(phases["pruned: leaf"]["mean"], 0)
                self.assertGreater(phases["pruned: leaf"]["samples"], 100)
                self.assertEqual(len(found["hints"]), len(found["hint_gains"]))
                has_cores = found["efficiency"]["core_share"] >= 0.85
                self.assertEqual("mean nothing" in found["verdict"], not has_cores, found["verdict"])
                self.assertEqual("largest loss" in found["verdict"] or "Hardly" in found["verdict"], has_cores, found["verdict"])
                parts = sum(phase["mean"] for phase in found["phases"] if phase["of"] == "thread")
                self.assertAlmostEqual(parts, found["runtime"], delta=0.02 * found["runtime"])
                if ranks == 1:
                    self.assertEqual((found["efficiency"]["transfer"], found["efficiency"]["multiplicative"]["mpi"]), (1, 1))

    def expect_identities(self, e: dict) -> None:
        product, total = e["multiplicative"], e["additive"]
        for whole, a, b in ((e["parallel"], e["load_balance"], e["communication"]),
                            (e["communication"], e["serialisation"], e["transfer"]),
                            (e["parallel"], product["mpi"], product["openmp"]),
                            (product["mpi"], product["mpi_load_balance"], product["mpi_communication"]),
                            (product["openmp"], product["openmp_load_balance"], product["openmp_communication"])):
            self.assertAlmostEqual(whole, a * b, places=9)
        for whole, a, b in ((e["parallel"], total["process"], total["thread"]),
                            (total["process"], total["process_load_balance"], total["process_communication"]),
                            (total["thread"], total["openmp_region"], total["serial_region"])):
            self.assertAlmostEqual(1 - whole, (1 - a) + (1 - b), places=9)
        self.assertTrue(0 < e["parallel"] <= 1)

    def test_messages_of_a_real_run_are_paired(self):
        found = self.analysed(self.run_of("run", ranks=3))
        sent = sum(rank["messages_sent"] for rank in found["ranks"])
        received = sum(rank["messages_received"] for rank in found["ranks"])
        self.assertGreater(sent, 0)
        self.assertLessEqual(abs(sent - received), 6)    # farewells come after the trace is closed
        self.assertEqual([remark for remark in found["remarks"] if "no sender" in remark], [])


class Output(TraceCase):
    def test_the_summary_tells_the_whole_story(self):
        text = self.trace(self.run_of("run", ranks=2)).stdout
        for words in ("uts run, complete; 2 ranks x 1 thread", "parallel efficiency", "serialisation", "as a product", "as a sum",
                      "pruned: leaf (sampled)", "busy threads of 2", "longest subtrees", "hints"):
            self.assertIn(words, text)

    def test_tables_are_for_scripts_too(self):
        run = self.run_of("run", ranks=2, threads=2)
        rows = list(csv.DictReader(io.StringIO(self.trace(run, "--by", "thread", "--format", "csv").stdout)))
        self.assertEqual(len(rows), 4)
        self.assertEqual(sum(int(row["nodes"]) for row in rows), harness.PUBLISHED["T1"].nodes)
        self.assertEqual(len(json.loads(self.trace(run, "--by", "node", "--format", "json").stdout)), 1)
        chosen = self.trace(run, "--by", "rank", "--columns", "wait,name", "--top", "1", "--format", "md").stdout.splitlines()
        self.assertEqual(chosen[0], "| wait | name |")
        self.assertEqual(len(chosen), 3)
        self.assertIn("verify", [row["name"] for row in json.loads(self.trace(run, "--by", "phase", "--format", "json").stdout)])

    def test_a_window_is_a_part(self):
        run = self.run_of("run", granularity=20)
        whole = self.analysed(run)
        middle = f"{int(500 * whole['runtime'])}ms"
        halves = [self.analysed(run, "--window", window) for window in (f":{middle}", f"{middle}:")]
        for half in halves:     # how many nodes are in which is a matter of what else the machine does
            self.assertTrue(0 < half["nodes"] < whole["nodes"], half["nodes"])
            self.assertAlmostEqual(half["runtime"], 0.5 * whole["runtime"], delta=0.01 * whole["runtime"] + 0.001)
        self.assertAlmostEqual(sum(half["nodes"] for half in halves), whole["nodes"], delta=0.02 * whole["nodes"])


class Compare(TraceCase):
    def test_a_slower_run_fails_the_comparison_and_says_so(self):
        fast, slow = self.run_of("fast", granularity=2), self.run_of("slow", granularity=40)
        job = self.trace("--compare", fast, slow, "--fail-below", "0.95", code=COMPARISON_FAILED)
        self.assertIn("below 0.95", job.stdout)
        self.assertIn("different things", job.stderr)
        found = json.loads(self.trace("--compare", slow, fast, "--fail-below", "0.95", "--format", "json").stdout)
        self.assertGreater(found["cpu_speed"], 1.5)
        self.assertFalse(found["failed"])

    def test_a_run_is_as_fast_as_itself(self):
        run = self.run_of("run")
        self.assertEqual(json.loads(self.trace("--compare", run, run, "--format", "json").stdout)["speed"], 1)


class BadInput(TraceCase):
    def refused(self, *arguments, words: tuple, code: int = INVALID_INPUT) -> None:
        self.expect_refused(self.espalier("trace", *arguments), *words, code=code)

    def test_what_is_no_run_or_has_no_trace(self):
        self.refused(self.folder / "nothing", words=("not a run folder", "no such folder"))
        self.refused(self.folder, words=("not a run folder", "run.h5"))
        run = self.run_of("quiet", "--set", "trace.enabled=false")
        self.refused(run, words=("left no trace", "--set trace.enabled=true"))

    def test_wrong_options(self):
        run = self.run_of("run")
        self.refused(run, "--window", "90s:100s", words=("window holds no event", "it lasted"))
        self.refused(run, "--window", "2s:1s", words=("empty",))
        self.refused(run, "--window", "soon:", words=("'soon' is not a time",))
        self.refused(run, "--by", "rank", "--columns", "name,wiat", words=("no column 'wiat'", "did you mean 'wait'"))
        self.refused(run, "--execution", "4", words=("no execution 4",))
        self.refused(words=("name one run folder",), code=USAGE)
        self.refused(run, "--columns", "name", words=("--by",), code=USAGE)
        self.refused(run, "-o", "file.txt", words=("--export",), code=USAGE)
        self.refused(run, "--by", "rank", "--export", "csv", "-o", "file.csv", words=("--by",), code=USAGE)
        self.refused("--compare", run, run, "--export", "csv", "-o", "file.csv", words=("--compare",), code=USAGE)

    def test_a_newer_schema_is_refused_and_a_newer_shard_left_out(self):
        run = self.run_of("run", ranks=2)
        shard = run / "trace" / "segment-001" / "rank-000001.h5"
        with harness.changed(shard, "shard") as file:
            file.attrs["schema_major"] = 9
        found = self.analysed(run)
        self.assertEqual(len(found["ranks"]), 1)
        self.assertTrue(any("rank-000001.h5" in remark and "newer" in remark for remark in found["remarks"]), found["remarks"])
        with harness.changed(run / "run.h5") as file:
            file["meta"].attrs["schema_major"] = 9
        self.refused(run, words=("newer",))

    def test_a_table_that_was_made_longer_is_damaged_and_not_empty(self):
        run = self.run_of("run")
        with harness.changed(run / "trace" / "segment-001" / "rank-000000.h5", "shard") as file:
            file["events"].resize((10**10,))
        words = ("no event of the trace can be read", "rank-000000.h5", "of 10000000000 events")
        self.refused(run, words=words)
        self.expect_refused(self.espalier("simulate", run), *words)

    def test_a_run_that_is_still_written_is_analysed_so_far(self):
        job = self.search(self.experiment("T3", granularity=8 * harness.GRANULARITY), ranks=2)
        job.until_searching()
        run = self.folder / "run"
        job.until(lambda: self.has_events(run), "events on disk")
        found = self.analysed(run)
        self.assertTrue(any("still in progress" in remark for remark in found["remarks"]), found["remarks"])
        self.assertTrue(0 < found["nodes"] < harness.PUBLISHED["T3"].nodes)
        self.assertTrue(job.is_running)

    def has_events(self, run: Path) -> bool:
        return self.espalier("trace", run, "--format", "json").code == DONE

    def test_a_run_that_was_killed_early_is_analysed(self):
        job = self.search(self.experiment("T3", granularity=8 * harness.GRANULARITY), "--set", "cluster.commit=10min")
        job.until_searching()
        run = self.folder / "run"
        job.until(lambda: self.has_events(run), "events on disk, long before the first commit")
        job.kill_everything()
        found = self.analysed(run)
        self.assertTrue(any("was killed" in remark for remark in found["remarks"]), found["remarks"])
        self.assertGreater(found["nodes"], 0)

    def test_a_comparison_without_a_shard_says_nothing_of_speed(self):
        a, b = self.run_of("a", ranks=2), self.run_of("b", ranks=2)
        (b / "trace" / "segment-001" / "rank-000001.h5").unlink()
        self.refused("--compare", a, b, "--fail-below", "0.1", words=("rank-000001.h5", "without --fail-below"))

    def test_a_resumed_run_is_told_by_execution(self):
        yaml = self.stoppable()
        self.finished(self.search(yaml, *harness.STOP_EARLY))
        self.finished(self.search(yaml))
        run = self.folder / "run"
        first, second = self.analysed(run, "--execution", "1"), self.analysed(run)
        self.assertEqual((first["execution"], second["execution"]), (1, 2))
        self.assertTrue(any("execution 2 of 2" in remark for remark in second["remarks"]))
        self.assertLessEqual(second["nodes"], harness.PUBLISHED["T1"].nodes)


if __name__ == "__main__":
    harness.main()
