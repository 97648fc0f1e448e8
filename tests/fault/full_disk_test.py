#!/usr/bin/python3
"""A full disk: the run ends exact or with a clear error, and with more room the same command finishes exact. Needs root for tmpfs."""

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

    def enlarge(self) -> None:
        subprocess.run(["mount", "-o", "remount,size=64m", self.disk], check=True)

    def survives(self, size: str, *arguments, filler_bytes: int = 0, **shape) -> None:
        """One run on a disk of that size, of which a part is taken by others, then again on a larger one."""
        self.mount(f"size={size}")
        experiment = self.experiment("T1", granularity=GRANULARITY // 2)
        where = ["--results", "disk/run", *harness.EAGER_CHECKPOINTS, *arguments]
        (self.disk / "filler").write_bytes(bytes(filler_bytes))

        first = self.finished(self.search(experiment, *where, **shape))

        self.assertIn(first.code, (DONE, FAILURE, RESUMABLE), first.text)
        if first.code == DONE:
            self.expect_exact(first.json, "T1", first.text)
        else:
            self.assertIn("No space left", first.stderr, first.text)
        self.enlarge()
        again = self.search(experiment, *where, **shape)
        self.assertEqual(again.wait(), DONE, again.describe())
        self.expect_complete("T1", again, run="disk/run")

    def test_a_disk_that_has_no_room_for_the_first_file(self):
        self.survives("16k", filler_bytes=8192)

    def test_a_disk_that_fills_up_during_the_search(self):
        self.survives("96k", threads=2)

    def test_a_disk_that_fills_up_under_mpi(self):
        self.survives("256k", "--set", "cluster.lease=1s", ranks=3)

    def test_a_disk_that_fills_up_with_traces(self):
        self.survives("512k", "--set", "cluster.budget=5ms", ranks=2)


if __name__ == "__main__":
    harness.main()
