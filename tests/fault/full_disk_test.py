#!/usr/bin/python3
"""A full disk: the run ends exact or with a clear error, and with more room the same command finishes exact. Needs root for tmpfs."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import DONE, FAILURE, GRANULARITY, RESUMABLE, Case


class FullDisk(Case):
    def setUp(self):
        super().setUp()
        self.disk = self.folder / "disk"
        self.disk.mkdir()

    def mount(self, options: str) -> None:
        if os.geteuid() != 0:
            self.skipTest("needs root, to mount a small tmpfs")
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "espalier-test", self.disk], capture_output=True, text=True)
        if mounted.returncode != 0:
            self.skipTest(f"cannot mount a tmpfs: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk])

    def room_bytes(self) -> int:
        state = os.statvfs(self.disk)
        return state.f_bavail * state.f_frsize

    def fill(self) -> None:
        """Not one byte is left afterwards."""
        with open(self.disk / "filler", "ab", buffering=0) as filler, contextlib.suppress(OSError):
            while filler.write(bytes(4096)):
                pass
        self.assertEqual(self.room_bytes(), 0)

    def finishes_with_more_room(self, experiment: Path, *where, **shape) -> None:
        (self.disk / "filler").unlink(missing_ok=True)
        subprocess.run(["mount", "-o", "remount,size=64m", self.disk], check=True)
        again = self.search(experiment, *where, **shape)
        self.assertEqual(again.wait(), DONE, again.describe())
        self.expect_complete("T1", again, run="disk/run")

    def fills_up(self, **shape) -> None:
        """Others fill the disk during a run that has written a checkpoint there."""
        self.mount("size=8m")
        experiment = self.experiment("T1", granularity=2 * GRANULARITY)
        where = ["--results", "disk/run", *harness.EAGER_CHECKPOINTS]
        first = self.search(experiment, *where, **shape)
        first.until(lambda: self.nodes_on_disk("disk/run") > 0, "a checkpoint")

        self.fill()
        first.wait()

        self.assertIn("No space left", first.stderr, first.describe())
        if first.wait() == DONE:  # shards of other ranks that were closed made room for the last checkpoint
            self.expect_complete("T1", first, run="disk/run")
            return
        self.assertIn(first.wait(), (FAILURE, RESUMABLE), first.describe())
        left = self.show("disk/run")
        self.assertGreater(left["nodes"], 0, "what was on the disk still is")
        self.assertNotEqual(left["stop_reason"], "complete")
        self.finishes_with_more_room(experiment, *where, **shape)

    def test_a_disk_that_fills_up_during_the_search(self):
        self.fills_up(threads=2)

    def test_a_disk_that_fills_up_under_mpi(self):
        self.fills_up(ranks=3)

    def test_a_disk_that_has_no_room_for_the_first_file(self):
        self.mount("size=16k")
        experiment = self.experiment("T1")
        (self.disk / "filler").write_bytes(bytes(8192))

        first = self.finished(self.search(experiment, "--results", "disk/run"))

        self.expect_refused(first, "No space left", code=FAILURE)
        self.finishes_with_more_room(experiment, "--results", "disk/run")

    def test_a_disk_without_room_for_traces_costs_only_the_traces(self):
        self.mount("size=256k")
        experiment = self.experiment("T1", granularity=GRANULARITY // 5)

        first = self.finished(self.search(experiment, "--results", "disk/run", "--set", "cluster.budget=5ms", ranks=2))

        self.assertIn("No space left", first.stderr, first.text)
        self.assertEqual(first.code, DONE, first.text)
        self.expect_complete("T1", run="disk/run")


if __name__ == "__main__":
    harness.main()
