#!/usr/bin/python3
"""Searches for the machine they run on: it is measured once, the best programs are measured at the end, and nothing is measured twice."""

import json
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import DONE, ESPALIER, INVALID_INPUT, RESUMABLE, SLOWNESS, Case, launcher

PROGRAM = "program: {builtin: rmsnorm_linear, tokens: 2, hidden: 32, out: 64, dtype: f32}, space: {from: full, blocks: {min: 1}}"
MEASURING = "measuring "


class Here(Case):
    def setUp(self):
        super().setUp()
        self.cache = self.folder / "cache"
        self.yaml = self.here()

    def here(self, hardware: str = "here", measure: str = "{top: 2, seconds: 600}", name: str = "experiment.yaml") -> Path:
        return self.file(name, f"problem: {{kind: mugraph, {PROGRAM}, hardware: {hardware}}}\nmeasure: {measure}\nresults: {{path: run}}\n")

    def env(self, **more) -> dict:
        return {"XDG_CACHE_HOME": str(self.cache), **more}

    def say(self, *arguments, **more):
        return self.espalier(*arguments, env=self.env(**more))

    def searched(self, *arguments, ranks: int = 1):
        prefix = launcher(ranks) if ranks > 1 else []
        result = self.finished(self.start(*prefix, ESPALIER, "search", self.yaml, "--threads", 1, *arguments, env=self.env()))
        self.assertEqual(result.code, DONE, result.text)
        return result

    def measured(self, run: str = "run") -> list[dict]:
        return [one for one in self.show(run)["results"] if one["executed"] != "no"]

    def kept(self) -> list[Path]:
        return sorted((self.cache / "espalier" / "machines").glob("*.json"))

    def stored_hardware(self, run: str = "run") -> str:
        import h5py

        with h5py.File(self.folder / run / "run.h5") as opened:
            text = opened["meta/config"][()].decode()
        return text[text.index("hardware:"):text.index("search:")]


class Searched(Here):
    def test_the_best_of_different_forms_are_measured_and_the_summary_ends_with_the_speed_up(self):
        for ranks in (1, 2):
            with self.subTest(ranks=ranks):
                result = self.searched("--force", "--set", f"measure.times=times-{ranks}.h5", ranks=ranks)

                measured = self.measured()
                self.assertEqual(len(measured), 2, result.text)
                self.assertEqual(len({one["form"] for one in measured}), 2)
                self.assertEqual([one["id"] for one in measured], [1, 2], "they come first")
                for one in measured:
                    self.assertEqual((one["cost_source"], one["executed"]), ("measured", "within tolerance"))
                    low, high = one["measured"]["ci_ms"]
                    self.assertTrue(0 < low <= one["measured"]["ms"] <= high, one)
                self.assertGreaterEqual(measured[0]["measured"]["speedup"], measured[1]["measured"]["speedup"])
                self.assertRegex(result.stdout.splitlines()[-1], "x as fast as the input on this machine|no program that was measured is faster")
                self.assertEqual(self.espalier("verify", "run").code, DONE)

    def test_a_second_run_measures_neither_the_machine_nor_the_programs_again(self):
        first = self.searched()
        self.assertIn("measuring this machine", first.stderr)
        self.assertIn("measuring 2 programs", first.stderr)
        self.assertEqual(len(self.kept()), 1)
        times = {one["key"]: one["measured"]["ms"] for one in self.measured()}

        second = self.searched("--results", "other")

        self.assertNotIn(MEASURING, second.stderr.replace("measuring the best", ""))
        self.assertEqual({one["key"]: one["measured"]["ms"] for one in self.measured("other")}, times)
        again = self.searched()
        self.assertIn("is finished", again.stderr)
        self.assertNotIn(MEASURING, again.stderr)

    def test_top_0_measures_nothing_and_other_machines_only_if_they_are_asked_to(self):
        self.searched("--set", "measure.top=0")
        self.assertEqual(self.measured(), [])
        self.searched("--force", "--set", "problem.hardware=a100", "--set", "measure={}")
        self.assertEqual(self.measured(), [])
        self.searched("--force", "--set", "problem.hardware=a100", "--set", "measure.top=1")
        self.assertEqual(len(self.measured()), 1)

    def test_the_seconds_limit_all_of_it_and_the_rest_can_be_measured_later(self):
        started = time.monotonic()
        result = self.searched("--set", "measure={top: 30, seconds: 1.5}")
        self.assertLess(time.monotonic() - started, 60 * SLOWNESS)

        measured = len(self.measured())
        self.assertLess(measured, 30)
        self.assertIn("`espalier measure run` measures the rest", result.stderr)
        self.assertEqual(self.status(), (DONE, "complete"))
        later = self.say("measure", "run", "--top", "1", "--json")
        self.assertEqual((later.code, len(later.json["measured"])), (DONE, 1), later.text)

    def test_a_signal_while_it_measures_leaves_a_complete_run_within_a_moment(self):
        for ranks in (1, 2):
            with self.subTest(ranks=ranks):
                self.yaml = self.here(measure="{top: 20, seconds: 1000}")
                prefix = launcher(ranks) if ranks > 1 else []
                job = self.start(*prefix, ESPALIER, "search", self.yaml, "--threads", 1, "--force", env=self.env())
                job.until_says("measuring 20 programs")
                time.sleep(0.5)
                started = time.monotonic()
                job.signal(signal.SIGTERM)
                job.wait()

                self.assertLess(time.monotonic() - started, 100 * SLOWNESS, job.describe())     # of a thousand
                self.assertEqual(self.status(), (DONE, "complete"), job.describe())
                self.assertLess(len(self.measured()), 20)
                self.assertIn("(signal): `espalier measure run` measures the rest", job.stderr)
                self.assertEqual(harness.processes_of(job.id), {}, "what it started has ended, too")

    def test_a_program_that_is_wrong_or_hangs_does_not_end_the_search(self):
        cases = (("exit 4", "wrong", "wrong", 100), ("kill -9 $$", "crashed", "no", 100), ("exec sleep 1000", "timed out", "no", 3))
        for script, verdict, executed, seconds in cases:
            with self.subTest(verdict):
                compiler = self.file("compiler", '#!/bin/sh\n[ "$1" = --version ] && exec echo a compiler\nwhile [ "$1" != -o ]; do shift; done\n'
                                                 f"printf '#!/bin/sh\\n{script}\\n' >$2\nchmod +x $2\n")
                compiler.chmod(0o755)
                machine = self.here("cpu", f"{{top: 1, seconds: {seconds}}}")
                result = self.say("search", machine, "--force", "--json", CXX=str(compiler), XDG_CACHE_HOME=str(self.folder / verdict.replace(" ", "-")))

                self.assertEqual(result.code, DONE, result.text)
                shown = self.show()
                told = [one["measured"]["verdict"] for one in shown["results"] if one["measured"]]
                self.assertEqual(told, [verdict], result.text)
                self.assertRegex(self.espalier("show", "run").stdout, f"- {verdict} +1 ")
                if executed == "wrong":
                    self.assertEqual(shown["results"][-1]["executed"], "wrong", "it comes last")


class Lost(Here):
    def test_programs_of_a_lost_rank_are_measured_by_others(self):
        job = self.start(*launcher(2, isolated=True), ESPALIER, "search", self.yaml, "--threads", 1, *harness.SHORT_LEASE, env=self.env())
        job.until_says("measuring 2 programs")
        time.sleep(0.5)

        harness.kill(job.until(lambda: job.ranks().get(1), "rank 1"))
        job.wait()

        self.assertEqual(self.status(), (DONE, "complete"), job.describe())
        self.assertEqual(len(self.measured()), 2, job.describe())


class Kept(Here):
    def test_a_resume_elsewhere_keeps_the_machine_and_says_so(self):
        self.yaml = self.file("longer.yaml", self.yaml.read_text().replace("rmsnorm_linear", "layernorm_linear"))    # a second, and the limit a moment
        stopped = self.say("search", self.yaml, "--threads", "1", "--max-nodes", "300", "--set", "cluster.budget=10ms")
        self.assertEqual(stopped.code, RESUMABLE, stopped.text)
        before = self.stored_hardware()
        self.assertIn("name: here", before)
        for file in self.kept():        # another machine knows nothing about this one, or has other numbers
            numbers = json.loads(file.read_text())
            file.write_text(json.dumps(numbers | {"memory": [0.5, 0.75], "cores": numbers["cores"]}))

        resumed = self.searched("--set", "measure.top=0")

        self.assertIn("the run keeps the machine that it began with", resumed.stderr)
        self.assertNotIn(MEASURING, resumed.stderr)
        self.assertEqual(self.stored_hardware(), before)
        self.searched("--force", "--set", "measure.top=0")
        self.assertNotEqual(self.stored_hardware(), before)

    def test_the_kept_numbers_of_the_machine_may_be_damaged(self):
        self.searched("--set", "measure.top=0")
        self.kept()[0].write_text('{"cpu": 3')

        self.assertIn("measuring this machine", self.searched("--set", "measure.top=0", "--force").stderr)

    def test_a_damaged_file_of_times_is_refused_before_anything_is_searched(self):
        times = self.file("times.h5", "no times")

        result = self.say("search", self.yaml, "--set", "measure.times=times.h5")

        self.expect_refused(result, "times.h5", "remove it, or name another")
        self.assertFalse((self.folder / "run").exists())
        self.assertEqual(times.read_text(), "no times")

    def test_a_damaged_file_of_times_in_the_cache_is_set_aside(self):
        times = self.cache / "espalier" / "times.h5"
        times.parent.mkdir(parents=True)
        times.write_text("damaged")

        result = self.searched()

        self.assertIn("times.h5.damaged", result.stderr)
        self.assertEqual(len(self.measured()), 2)
        self.assertEqual((times.parent / "times.h5.damaged").read_text(), "damaged")
        self.assertEqual(times.read_bytes()[1:4], b"HDF")

    def test_nothing_is_measured_to_check_or_print_an_experiment(self):
        self.assertEqual(self.say("check", self.yaml, CXX="/no/such").code, DONE)
        printed = self.say("search", self.yaml, "--print-config", CXX="/no/such")
        self.assertIn("hardware: here\n", printed.stdout)
        planned = self.say("search", self.yaml, "--dry-run")
        self.assertEqual((planned.code, self.kept()), (DONE, []), planned.text)
        self.assertIn("a new run", planned.stdout)

    def test_without_a_compiler_the_message_names_the_remedy(self):
        for hardware in ("here", "a100"):       # nothing is searched before it is clear that it can be measured
            yaml = self.here(hardware)
            self.expect_refused(self.say("search", yaml, CXX="/no/such/compiler"), "/no/such/compiler", "install g++")
        self.assertFalse((self.folder / "run").exists())
        self.assertEqual(self.say("search", yaml, "--quiet", "--set", "measure.top=0", CXX="/no/such/compiler").code, DONE)


class Measured(Here):
    def test_measure_prints_every_time_and_measures_nothing_twice(self):
        self.searched("--set", "measure.top=0")
        arguments = ("measure", "run", "--top", "1", "--threads", "1", "--times", "own.h5", "--json")

        first = self.say(*arguments).json

        self.assertEqual(set(first["machine"]), {"host", "cpu", "cores", "compiler"})
        one = first["measured"][0]
        self.assertLessEqual({"id", "key", "ms", "ci_ms", "input_ms", "speedup", "checked", "verdict"}, set(one))
        self.assertTrue((self.folder / "own.h5").exists())
        self.assertEqual(self.say(*arguments).json["measured"][0]["ms"], one["ms"])
        self.searched("--set", "measure.top=0", "--force")
        self.assertEqual(self.measured(), [], "a new run has no times")
        self.assertEqual(self.say(*arguments).json["measured"][0]["ms"], one["ms"], "the file has")
        again = self.say(*arguments, "--again").json["measured"][0]
        self.assertNotEqual((again["ms"], again["ci_ms"]), (one["ms"], one["ci_ms"]))


class Hardware(Here):
    def test_machines_are_listed(self):
        told = self.say("hardware", "--json").json
        self.assertEqual([one["name"] for one in told["machines"]], ["a100", "h100", "v100", "cpu"])
        self.assertEqual(told["machines"][0]["memory_bandwidth"], 1555 * 10**9)
        self.assertIsNone(told["here"])
        self.assertIn("not measured yet", self.say("hardware").stdout)

    def test_a_calibration_is_kept_and_written_as_a_file_that_hardware_reads(self):
        result = self.say("hardware", "--calibrate", "-o", "mine.yaml")

        self.assertEqual(result.code, DONE, result.text)
        here = self.say("hardware", "--json").json["here"]
        self.assertGreater(here["memory_bandwidth"], 0)
        self.assertEqual(self.say("check", self.here("mine.yaml", name="other.yaml")).code, DONE)
        text = (self.folder / "mine.yaml").read_text()
        self.assertIn(f"multiprocessors: {here['multiprocessors']} ", text)
        self.expect_refused(self.say("hardware", "--calibrate", "-o", "mine.yaml"), "mine.yaml", "not overwritten")
        self.assertEqual((self.folder / "mine.yaml").read_text(), text)

    def test_refusals_are_clear(self):
        refused = self.say("hardware", "-o", "mine.yaml")
        self.assertEqual(refused.code, harness.USAGE, refused.text)
        self.expect_refused(self.say("hardware", "--calibrate", CXX="/no/such"), "/no/such", code=INVALID_INPUT)


if __name__ == "__main__":
    harness.main()
