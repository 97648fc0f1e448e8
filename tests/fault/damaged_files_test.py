#!/usr/bin/python3
"""Damaged files in a run folder: an older checkpoint takes over with a warning, or a clear error and nothing is overwritten."""

import shutil
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import Case


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)


def empty(file: Path) -> None:
    file.write_bytes(b"")


def fill(file: Path) -> None:
    file.write_bytes(b"this is no HDF5 file\n" * 200)


DAMAGES = {"truncated": cut, "corrupted": flip, "empty": empty, "foreign": fill, "removed": Path.unlink}


class DamagedFiles(Case):
    def setUp(self):
        """A stopped run with two checkpoints; tests work on copies of it."""
        super().setUp()
        self.yaml = self.experiment("T1", granularity=10)
        job = self.search(self.yaml, "--set", "cluster.checkpoint=100ms", "--set", "problem.granularity=10", "--results", "stopped", threads=2)
        job.until((self.folder / "stopped" / "checkpoint.previous.h5").exists, "two checkpoints")
        job.signal(signal.SIGTERM)
        self.assertEqual(job.wait(), harness.RESUMABLE, job.describe())

    def damaged(self, name: str, damage, *files: str) -> Path:
        run = self.folder / name
        shutil.copytree(self.folder / "stopped", run)
        for file in files:
            damage(run / file)
        return run

    def resume(self, run: Path, *arguments) -> harness.Result:
        return self.finished(self.search(self.yaml, "--results", run.name, *arguments, threads=2))

    def test_the_previous_checkpoint_takes_over_with_a_warning(self):
        for name, damage in DAMAGES.items():
            with self.subTest(name):
                run = self.damaged(name, damage, "checkpoint.h5")

                result = self.resume(run)

                self.assertEqual(result.code, 0, result.text)
                self.assertIn("checkpoint.h5: it", result.stderr, result.text)
                self.assertIn("going on from checkpoint.previous.h5", result.stderr, result.text)
                self.expect_complete("T1", run=name)

    def test_a_damaged_previous_checkpoint_does_not_matter(self):
        run = self.damaged("older", cut, "checkpoint.previous.h5")

        result = self.resume(run)

        self.assertEqual(result.code, 0, result.text)
        self.expect_complete("T1", run="older")

    def test_without_a_whole_checkpoint_the_run_is_refused_and_left_as_it_is(self):
        for name in ("truncated", "corrupted", "empty", "foreign"):
            with self.subTest(name):
                run = self.damaged(f"both-{name}", DAMAGES[name], "checkpoint.h5", "checkpoint.previous.h5")
                before = harness.hashes(run)

                self.expect_refused(self.resume(run), "checkpoint.h5", "--force")

                self.assertEqual(harness.hashes(run), before)

    def test_a_checkpoint_that_is_cut_anywhere_is_found_out(self):
        whole = (self.folder / "stopped" / "checkpoint.h5").read_bytes()
        for size in (1, 24, len(whole) - 24, len(whole) - 1):
            with self.subTest(size=size):
                run = self.damaged(f"cut-{size}", lambda file, size=size: file.write_bytes(whole[:size]), "checkpoint.h5",
                                   "checkpoint.previous.h5")

                self.expect_refused(self.resume(run), "it is cut off")

    def test_force_starts_a_damaged_run_again(self):
        run = self.damaged("again", cut, "checkpoint.h5", "checkpoint.previous.h5")

        result = self.resume(run, "--force")

        self.assertEqual(result.code, 0, result.text)
        self.expect_complete("T1", run="again")

    def test_a_damaged_run_file_is_refused_and_left_as_it_is(self):
        for name in ("truncated", "empty", "foreign", "removed"):
            with self.subTest(name):
                run = self.damaged(f"run-{name}", DAMAGES[name], "run.h5")
                before = harness.hashes(run)

                self.expect_refused(self.resume(run), f"run-{name}")

                self.assertEqual(harness.hashes(run), before)

    def test_damage_is_also_refused_under_mpi_by_all_ranks(self):
        run = self.damaged("mpi", cut, "checkpoint.h5", "checkpoint.previous.h5")

        result = self.finished(self.search(self.yaml, "--results", run.name, ranks=3))

        self.expect_refused(result, "--force")
        self.assertEqual(result.stderr.count("--force"), 1, "rank 0 alone says it")


class MissingShards(Case):
    def setUp(self):
        super().setUp()
        job = self.search(self.experiment("T1"), ranks=2)
        self.assertEqual(job.wait(), 0, job.describe())
        self.segment = self.folder / "run" / "trace" / "segment-001"
        self.assertEqual(sorted(shard.name for shard in self.segment.iterdir()), ["rank-000000.h5", "rank-000001.h5"])

    def test_show_works_without_a_trace_shard_and_names_it(self):
        (self.segment / "rank-000001.h5").unlink()

        result = self.espalier("show", "run")

        self.assertEqual(result.code, 0, result.text)
        self.assertIn("4,130,071", result.stdout)
        self.assertIn("trace/segment-001/rank-000001.h5", result.stdout + result.stderr, result.text)
        self.expect_complete("T1")

    def test_show_works_without_the_whole_trace(self):
        shutil.rmtree(self.folder / "run" / "trace")

        self.expect_complete("T1")

    def test_show_works_with_a_damaged_trace_shard(self):
        cut(self.segment / "rank-000000.h5")

        self.expect_complete("T1")


if __name__ == "__main__":
    harness.main()
