#!/usr/bin/python3
"""What is in the run folder decides: it is resumed, shown again, or refused with nothing overwritten."""

import shutil
import sys
from pathlib import Path

import h5py

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import DONE, RESUMABLE, Case


class RunThere(Case):
    """A finished run of T1 with seed 1 is in the folder `run`."""

    def setUp(self):
        super().setUp()
        self.yaml = self.experiment("T1")
        self.first = self.finished(self.search(self.yaml)).json
        self.before = harness.hashes(self.folder / "run")

    def refused(self, *arguments, words: tuple) -> None:
        self.expect_refused(self.finished(self.search(self.yaml, *arguments)), *words)
        self.expect_untouched()

    def expect_untouched(self) -> None:
        self.assertEqual(harness.hashes(self.folder / "run"), self.before)


class OtherRun(RunThere):
    def test_a_run_of_another_problem_is_refused_and_left_as_it_is(self):
        self.refused("--set", "problem.tree=T3", words=("run:", "problem there:", "fixed", "problem now:", "binomial", "--force"))
        self.refused("--set", "problem.granularity=2", words=("granularity: 1", "granularity: 2"))

    def test_a_run_with_another_seed_is_refused_and_left_as_it_is(self):
        self.refused("--seed", "7", words=("seed there: 1", "seed now:   7", "--force"))

    def test_it_is_refused_under_mpi_as_well(self):
        result = self.finished(self.search(self.yaml, "--seed", "7", ranks=2))

        self.expect_refused(result, "seed there: 1")
        self.expect_untouched()

    def test_force_replaces_it(self):
        result = self.finished(self.search(self.yaml, "--set", "problem.tree=T3", "--force"))

        self.assertEqual(result.code, DONE, result.text)
        self.assertEqual(self.expect_complete("T3")["executions"], 1)

    def test_force_leaves_files_that_a_user_put_beside_the_run(self):
        notes = self.folder / "run" / "notes.txt"
        notes.write_text("mine")

        result = self.finished(self.search(self.yaml, "--force"))

        self.assertEqual(result.code, DONE, result.text)
        self.assertEqual(notes.read_text(), "mine")

    def test_bad_input_beside_force_replaces_nothing(self):
        self.refused("--force", "--max-time", "soon", words=("--max-time soon",))


class FinishedRun(RunThere):
    def test_it_is_shown_again_and_said_to_be_finished(self):
        result = self.finished(self.search(self.yaml))

        self.assertEqual(result.code, DONE, result.text)
        self.assertIn("run is finished", result.stderr)
        self.assertEqual(result.json, self.first)
        self.expect_untouched()

    def test_it_is_shown_again_for_people_and_under_mpi(self):
        result = self.finished(self.start(*harness.launcher(2), harness.ESPALIER, "search", self.yaml))

        self.assertEqual(result.code, DONE, result.text)
        self.assertEqual(result.stdout.count("4,130,071"), 1, result.text)
        self.assertEqual(result.stderr.count("finished"), 1, result.text)
        self.expect_untouched()

    def test_ranks_threads_cluster_and_limits_do_not_make_it_another_run(self):
        other = ["--max-time", "1s", "--max-nodes", "5", "--set", "cluster.policy=static", "--set", "trace.enabled=false"]

        result = self.finished(self.search(self.yaml, *other, ranks=2, threads=2))

        self.assertEqual(result.code, DONE, result.text)
        self.expect_untouched()


class NewerSchema(RunThere):
    def setUp(self):
        super().setUp()
        with harness.changed(self.folder / "run" / "run.h5") as run:
            run["meta"].attrs["schema_major"] = int(run["meta"].attrs["schema_major"]) + 1
        self.before = harness.hashes(self.folder / "run")

    def test_a_newer_major_version_is_refused_by_search_and_show(self):
        words = ("run.h5", "schema version 3.", "newer espalier")
        self.refused(words=words)
        for flags in ([], ["--json"], ["--status"]):
            self.expect_refused(self.espalier("show", "run", *flags), *words)
        self.expect_untouched()

    def test_a_newer_minor_version_is_read(self):
        with harness.changed(self.folder / "run" / "run.h5") as run:
            run["meta"].attrs["schema_major"] = 2
            run["meta"].attrs["schema_minor"] = 99

        self.expect_complete("T1")


    def test_a_run_of_the_first_layout_is_refused_with_a_word_of_its_age(self):
        file = self.folder / "run" / "run.h5"
        with harness.changed(file) as run:
            run["meta"].attrs["schema_major"] = 1
        file.write_bytes(file.read_bytes()[:-24])  # it had no seal
        self.before = harness.hashes(self.folder / "run")

        self.refused(words=("run.h5", "older espalier", "schema version 1", "--force"))
        self.expect_refused(self.espalier("show", "run"), "older espalier", "schema version 1")
        self.expect_untouched()


class ForeignFolder(Case):
    def setUp(self):
        super().setUp()
        self.yaml = self.experiment("T1")
        self.run_folder = self.folder / "run"

    def refused(self, *words: str) -> None:
        before = self.files()
        for flags in ([], ["--force"]):
            with self.subTest(flags):
                self.expect_refused(self.espalier("search", self.yaml, *flags), "run", *words, "results.path")
                self.assertEqual(self.files(), before)

    def files(self) -> dict[str, str]:
        return {name: value for name, value in harness.hashes(self.folder).items() if not name.startswith(".logs")}

    def test_a_folder_with_files_of_others_is_refused_also_with_force(self):
        self.run_folder.mkdir()
        (self.run_folder / "thesis.tex").write_text("years of work")

        self.refused("is not a run folder", "thesis.tex")
        self.expect_refused(self.espalier("show", "run"), "not a run folder")

    def test_a_run_h5_of_another_program_is_refused_also_with_force(self):
        self.run_folder.mkdir()
        with h5py.File(self.run_folder / "run.h5", "w") as other:
            other["measurements"] = [1, 2, 3]

        self.refused("another program")

    def test_a_file_instead_of_a_folder_is_refused_also_with_force(self):
        self.run_folder.write_text("a file")

        self.refused("is not a folder")

    def test_an_empty_folder_is_taken(self):
        self.run_folder.mkdir()

        self.assertEqual(self.espalier("search", self.yaml).code, DONE)
        self.expect_complete("T1")

    def test_folders_above_are_made(self):
        result = self.espalier("search", self.yaml, "--results", "a/b/c")

        self.assertEqual(result.code, DONE, result.text)
        self.expect_complete("T1", run="a/b/c")


class Resumed(Case):
    def test_totals_hold_what_came_before_and_seconds_only_the_last_execution(self):
        yaml = self.stoppable("T3")
        first = self.finished(self.search(yaml, *harness.STOP_EARLY))
        self.assertEqual((first.code, first.json["stop_reason"]), (RESUMABLE, "node_limit"), first.text)

        last = self.finished(self.search(yaml, ranks=2))

        self.assertEqual(last.code, DONE, last.text)
        self.assertIn("resuming run", last.stderr)
        summary = self.expect_complete("T3")
        for key in ("seconds", "cpu_seconds"):
            self.assertGreaterEqual(summary[f"total_{key}"], summary[key])
            self.assertAlmostEqual(summary[f"total_{key}"], first.json[key] + last.json[key], delta=0.01)
        self.assertEqual((summary["executions"], summary["ranks"]), (2, 2))

    def test_a_stopped_run_of_another_problem_is_refused_and_can_still_go_on(self):
        yaml = self.stoppable()
        self.finished(self.search(yaml, *harness.STOP_EARLY))
        before = harness.hashes(self.folder / "run")

        self.expect_refused(self.finished(self.search(yaml, "--set", "problem.granularity=3")), "granularity: 3")

        self.assertEqual(harness.hashes(self.folder / "run"), before)
        self.assertEqual(self.finished(self.search(yaml)).code, DONE)
        self.expect_complete("T1")

    def test_a_run_folder_can_be_moved(self):
        yaml = self.stoppable()
        self.finished(self.search(yaml, *harness.STOP_EARLY))
        shutil.move(self.folder / "run", self.folder / "elsewhere")

        last = self.search(yaml, "--results", "elsewhere")

        self.assertEqual(last.wait(), DONE, last.describe())
        self.expect_complete("T1", last, run="elsewhere")


if __name__ == "__main__":
    harness.main()
