#!/usr/bin/python3
"""The commands beside a search: help, version, check, schema, show; and what is merged from file and command line."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import DONE, INVALID_INPUT, RESUMABLE, Case

EXPERIMENTS = Path(__file__).resolve().parent.parent.parent / "config"


class Help(Case):
    def test_every_command_has_help_with_its_options_and_the_exit_codes(self):
        for command, words in {(): ("search", "check", "schema", "show", "--version", "85"),
                               ("search",): ("--set", "--max-time", "--threads", "--force", "--dry-run", "--print-config", "--json", "--color"),
                               ("check",): ("files",), ("schema",): ("JSON Schema",), ("show",): ("--json", "--status", "run")}.items():
            with self.subTest(command):
                result = self.espalier(*command, "--help")

                self.assertEqual((result.code, result.stderr), (DONE, ""), result.text)
                for word in ("Usage:", *words):
                    self.assertIn(word, result.stdout)

    def test_the_version_names_the_program_and_its_libraries(self):
        result = self.espalier("--version")

        self.assertEqual((result.code, result.stderr), (DONE, ""), result.text)
        self.assertTrue(result.stdout.startswith("espalier "), result.text)
        for word in ("MPI", "OpenMP", "Z3", "HDF5", "CUDA", "ONNX"):
            self.assertIn(word, result.stdout)

    def test_the_version_as_json(self):
        result = self.espalier("--version", "--json")

        self.assertEqual((result.code, result.stderr), (DONE, ""), result.text)
        self.assertLessEqual({"version", "commit", "compiler", "flags", "build_type", "mpi", "openmp", "z3", "hdf5", "cuda", "onnx"}, set(result.json))
        self.assertIn(result.json["version"], self.espalier("--version").stdout)


class Check(Case):
    def setUp(self):
        super().setUp()
        self.experiment(name="good.yaml")
        self.file("bad.yaml", "problem: {kind: uts, tree: T9}\nresults: {path: run}\n")
        self.file("worse.yaml", "problem: {kind: uts, tree: T1}\nsearch: {threads: 0, sed: 1}\nresults: {path: run}\n")

    def test_all_files_are_checked_and_all_errors_are_shown(self):
        result = self.espalier("check", "bad.yaml", "good.yaml", "missing.yaml", "worse.yaml")

        self.assertEqual(result.code, INVALID_INPUT, result.text)
        self.assertEqual(result.stdout, "good.yaml: ok (uts)\n")
        for word in ("bad.yaml:1:28:", "missing.yaml: ", "worse.yaml:2:19:", "worse.yaml:2:22:"):
            self.assertIn(word, result.stderr)

    def test_as_json(self):
        result = self.espalier("check", "bad.yaml", "good.yaml", "--json")

        self.assertEqual((result.code, result.stderr), (INVALID_INPUT, ""), result.text)
        self.assertEqual([(entry["file"], entry["ok"]) for entry in result.json], [("bad.yaml", False), ("good.yaml", True)])
        self.assertIn("T9", result.json[0]["error"])

    def test_every_experiment_in_config_is_good(self):
        result = self.espalier("check", *sorted(EXPERIMENTS.glob("*.yaml")))

        self.assertEqual((result.code, result.stderr), (DONE, ""), result.text)

    def test_checking_makes_nothing(self):
        self.espalier("check", "good.yaml")

        self.assertFalse((self.folder / "run").exists())


class Schema(Case):
    def test_it_is_a_json_schema_of_all_sections(self):
        result = self.espalier("schema")

        self.assertEqual((result.code, result.stderr), (DONE, ""), result.text)
        self.assertIn("json-schema.org", result.json["$schema"])
        self.assertLessEqual({"problem", "search", "cluster", "trace", "results"}, set(result.json["properties"]))
        self.assertFalse(result.json["additionalProperties"])


class Merged(Case):
    def printed(self, *arguments) -> str:
        result = self.espalier("search", *arguments, "--print-config")
        self.assertEqual((result.code, result.stderr), (DONE, ""), result.text)
        self.assertFalse((self.folder / "run").exists())
        return result.stdout

    def test_the_printed_experiment_is_an_experiment_that_prints_itself(self):
        for name in ("uts-t1.yaml", "uts-custom.yaml"):
            with self.subTest(name):
                printed = self.printed(EXPERIMENTS / name, "--set", "cluster.lease=1500ms", "--max-time", "3h50m")

                self.assertEqual(self.printed(self.file("printed.yaml", printed)), printed)

    def test_a_run_from_the_printed_experiment_is_the_same_run(self):
        self.file("printed.yaml", self.printed(self.experiment("T1")))
        self.espalier("search", "experiment.yaml")

        again = self.espalier("search", "printed.yaml")

        self.assertEqual(again.code, DONE, again.text)
        self.assertIn("finished", again.stderr)

    def test_the_command_line_wins_over_the_file_and_the_file_over_the_default(self):
        yaml = self.file("some.yaml", "problem: {kind: uts, tree: T1}\nsearch: {threads: 3, seed: 5}\nresults: {path: run}\n")

        printed = self.printed(yaml, "--set", "search.threads=2", "--set", "problem.tree=T3", "--results", "other")

        for line in ("threads: 2", "seed: 5", "tree: T3", "path: other", "memory: 80%"):
            self.assertIn(f"  {line}\n", printed)

    def test_an_override_really_decides_the_run(self):
        result = self.espalier("search", self.experiment("T1"), "--json", "--set", "problem.tree=T3", "--set", "search.threads=2", "--results", "other")

        self.assertEqual(result.code, DONE, result.text)
        self.assertEqual(result.json["threads"], 2)
        self.expect_complete("T3", run="other")
        self.assertFalse((self.folder / "run").exists())

    def test_a_dry_run_says_what_would_be_done_and_makes_nothing(self):
        result = self.espalier("search", self.experiment("T1"), "--dry-run", "--threads", "1")

        self.assertEqual((result.code, result.stderr), (DONE, ""), result.text)
        for word in ("would search", "geometric", "1 rank x 1 thread,", "hybrid", "into run", "a new run"):
            self.assertIn(word, result.stdout)
        self.assertFalse((self.folder / "run").exists())

    def test_a_dry_run_refuses_what_the_run_would_refuse(self):
        yaml = self.experiment("T1")
        (self.folder / "run").mkdir()
        (self.folder / "run" / "thesis.tex").write_text("years of work")
        self.espalier("search", yaml, "--results", "done")

        self.expect_refused(self.espalier("search", yaml, "--dry-run", "--threads", "0"), "--threads 0")
        self.expect_refused(self.espalier("search", yaml, "--dry-run"), "thesis.tex")
        self.expect_refused(self.espalier("search", yaml, "--dry-run", "--results", "done", "--seed", "7"), "seed there: 1")


class Show(Case):
    def test_what_is_no_run_is_refused(self):
        (self.folder / "empty").mkdir()
        self.file("file", "")
        for name in ("nowhere", "empty", "file"):
            for flags in ([], ["--json"], ["--status"]):
                with self.subTest(name, flags=flags):
                    self.expect_refused(self.espalier("show", name, *flags), name, "not a run folder")

    def test_a_run_that_was_killed_before_it_stored_anything_has_begun(self):
        """What a process leaves that dies between its lock and its first file."""
        (self.folder / "run").mkdir()
        (self.folder / "run" / "lock").write_text("pid 4194305\nhost nowhere\nstarted 2026-01-31T12:00:00Z\n")

        text, as_json = self.espalier("show", "run"), self.espalier("show", "run", "--json")

        self.assertEqual(self.status(), (RESUMABLE, "interrupted"))
        self.assertEqual((text.code, as_json.code), (DONE, DONE), text.text + as_json.text)
        self.assertIn("run: a run has begun here and has stored nothing yet (interrupted): the same command starts it", text.stdout)
        found = as_json.json
        self.assertEqual((found["stop_reason"], found["exit_code"], found["nodes"], found["results"]), ("interrupted", RESUMABLE, 0, 0))
        self.expect_refused(self.espalier("show", "run", "--program", "1"), "stored nothing yet")
        self.assertEqual(self.espalier("search", self.experiment("T1"), "--quiet").code, DONE)
        self.expect_complete("T1")

    def test_a_checkpoint_without_results_or_a_strangers_file_is_no_run_that_has_begun(self):
        (self.folder / "run").mkdir()
        (self.folder / "run" / "lock").write_text("")
        for name in ("checkpoint.h5", "letter.txt"):
            with self.subTest(name):
                (self.folder / "run" / name).write_text("x")
                self.expect_refused(self.espalier("show", "run", "--status"), "not a run folder")
                (self.folder / "run" / name).unlink()

    def test_a_finished_run_is_shown_for_people_programs_and_job_scripts(self):
        searched = self.espalier("search", self.experiment("T1"), "--json").json

        text = self.espalier("show", "run")

        self.assertEqual((text.code, text.stderr), (DONE, ""), text.text)
        for word in ("uts run, complete", "4,130,071", "3,305,118", "1 rank"):
            self.assertIn(word, text.stdout)
        self.assertEqual(self.show(), searched)
        self.assertEqual(self.status(), (DONE, "complete"))

    def test_a_stopped_run_exits_85_for_job_scripts_only(self):
        self.espalier("search", self.stoppable(), *harness.STOP_EARLY)

        text = self.espalier("show", "run")

        self.assertEqual(text.code, DONE, text.text)
        self.assertIn("the same command resumes", text.stdout)
        self.assertEqual(self.status(), (RESUMABLE, "node_limit"))


if __name__ == "__main__":
    harness.main()
