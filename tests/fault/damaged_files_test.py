#!/usr/bin/python3
"""Damaged files in a run folder: an older checkpoint takes over with a warning, or a clear error and nothing is overwritten."""

import random
import shutil
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
    file.write_bytes(b"this is not an HDF5 file\n" * 200)


DAMAGES = {"truncated": cut, "corrupted": flip, "empty": empty, "foreign": fill, "removed": Path.unlink}


class DamagedFiles(Case):
    def setUp(self):
        """A stopped run with two checkpoints; tests work on copies of it."""
        super().setUp()
        self.yaml = self.stoppable()
        for _ in range(2):
            job = self.search(self.yaml, *harness.STOP_EARLY, "--results", "stopped", threads=2)
            self.assertEqual(job.wait(), harness.RESUMABLE, job.describe())
        self.assertTrue((self.folder / "stopped" / "checkpoint.previous.h5").exists())

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
                self.assertIn("resuming from checkpoint.previous.h5", result.stderr, result.text)
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

                self.expect_refused(self.resume(run), "checkpoint.h5", "none of the run's checkpoints is intact")

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

    def test_a_damaged_run_file_says_what_can_be_saved_and_is_repaired(self):
        for name in ("truncated", "corrupted", "empty", "foreign", "removed"):
            with self.subTest(name):
                run = self.damaged(f"repair-{name}", DAMAGES[name], "run.h5")
                self.expect_refused(self.resume(run), "--repair", "--force")

                result = self.resume(run, "--repair")

                self.assertEqual(result.code, 0, result.text)
                self.assertIn("repaired from the checkpoint", result.stderr, result.text)
                self.expect_complete("T1", run=run.name)

    def test_what_has_no_checkpoint_cannot_be_repaired(self):
        run = self.damaged("lost", flip, "run.h5", "checkpoint.h5", "checkpoint.previous.h5")

        self.expect_refused(self.resume(run, "--repair"), "none of the run's checkpoints is intact", "--force")
        self.expect_refused(self.resume(run), "run.h5", "nothing can be saved", "--force")

    def test_show_says_that_a_damaged_run_can_be_repaired(self):
        self.damaged("shown", flip, "run.h5")

        for command in ("show", "verify", "trace", "report", "simulate"):
            self.expect_refused(self.espalier(command, "shown"), "run.h5", "checksum is wrong", "--repair")

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


def random_damage(file: Path, rng: random.Random) -> str:
    """Flips a bit, zeroes a block, cuts, swaps two blocks, lets it grow, or writes noise; returns what."""
    content = bytearray(file.read_bytes())
    kind = rng.choice(["flip", "flip", "zero", "truncate", "swap", "grow", "noise"])
    size = min(rng.randint(1, 700), max(len(content) // 2, 1))
    first, second = (rng.randrange(max(len(content) - size, 1)) for _ in range(2))
    if kind == "flip" and content:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    elif kind == "zero":
        content[first : first + size] = bytes(len(content[first : first + size]))
    elif kind == "truncate":
        del content[first:]
    elif kind == "swap":
        content[first : first + size], content[second : second + size] = content[second : second + size], content[first : first + size]
    elif kind == "grow":
        content += bytes(rng.choice([0, 255]) for _ in range(size))
    elif kind == "noise":
        content[first : first + size] = rng.randbytes(len(content[first : first + size]))
    file.write_bytes(content)
    return f"{kind} at {first}, {size} bytes, of {file}"


class RandomDamage(Case):
    """Whatever happens to a file of a run: no signal, no hang, and no other answer without a warning."""

    rounds = 30  # of each command

    def setUp(self):
        super().setUp()
        self.rng = random.Random(f"{self.id()} {self.rounds}")
        self.yaml = self.superoptimization("builtin: rmsnorm_linear, tokens: 2, hidden: 32, out: 64")

    def found(self) -> Path:
        """A finished run with results."""
        self.assertEqual(self.finished(self.search(self.yaml, "--results", "whole", "--quiet", threads=2)).code, 0)
        return self.folder / "whole"

    def killed(self, yaml: Path) -> Path:
        """A run that was killed: its shards were not closed, and it has two checkpoints."""
        job = self.search(yaml, "--results", "whole", "--set", "cluster.checkpoint=100ms", "--set", "cluster.commit=20ms", threads=2)
        job.until((self.folder / "whole" / "checkpoint.previous.h5").exists, "two checkpoints")
        job.kill_everything()
        self.assertTrue(list((self.folder / "whole").glob("trace/*/*.log")), "the log of a shard that was not closed")
        (self.folder / "whole" / "lock").unlink(missing_ok=True)
        return self.folder / "whole"

    def damaged(self, whole: Path) -> tuple[Path, str]:
        """A copy of the run, always under the same name, with one damaged file; and what was done to it."""
        run = self.folder / "run"
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(whole, run)
        file = self.rng.choice(sorted(file for file in run.rglob("*") if file.is_file()))
        return run, random_damage(file, self.rng)

    def try_often(self, whole: Path, command: list, answer=lambda result: result.stdout) -> None:
        """Either the same answer as of the undamaged run, or exit code 3, or a message about what was left out."""
        shutil.rmtree(self.folder / "run", ignore_errors=True)
        shutil.copytree(whole, self.folder / "run")
        good = self.espalier(*command)
        expected = (good.code, answer(good))
        for _ in range(self.rounds):
            _, what = self.damaged(whole)
            result = self.espalier(*command)
            said = result.stdout + result.stderr
            self.assertIn(result.code, (good.code, harness.INVALID_INPUT), f"{what}\n{result.text}")
            is_told = any(word in said for word in ("damaged", "left out", "checksum", "cut off", "is empty", "not what was written",
                                                    "older than another", "missing or wrong", "no seal"))
            if not is_told:
                self.assertEqual((result.code, answer(result)), expected, f"{what}\n{result.text}")
            self.assertTrue(result.code == good.code or is_told, f"{what}\n{result.text}")

    def test_show(self):
        self.try_often(self.found(), ["show", "run", "--json", "--top", "30"])

    def test_show_of_a_killed_run(self):
        self.try_often(self.killed(self.experiment("T1", granularity=harness.GRANULARITY, name="uts.yaml")), ["show", "run", "--json"])

    def test_verify(self):
        self.try_often(self.found(), ["verify", "run", "--json", "--seed", "5"])

    def test_trace(self):
        self.try_often(self.found(), ["trace", "run", "--format", "json"])

    def test_trace_of_a_killed_run(self):
        self.try_often(self.killed(self.experiment("T1", granularity=harness.GRANULARITY, name="uts.yaml")), ["trace", "run", "--format", "json"])

    def test_simulate(self):
        self.try_often(self.found(), ["simulate", "run", "--nodes", "1,4"])

    def test_report(self):
        page = self.folder / "page.html"
        self.try_often(self.found(), ["report", "run", "-o", page, "--nodes", "none"], answer=lambda _: "")

    def test_resume(self):
        """Of a run that was killed: refused, or exact in the end, repaired or not."""
        yaml = self.experiment("T1", granularity=4 * harness.GRANULARITY // 5, name="uts.yaml")
        whole = self.killed(yaml)
        for _ in range(self.rounds // 3):
            run, what = self.damaged(whole)
            result = self.finished(self.search(yaml, "--results", run.name, "--quiet", threads=2))
            self.assertIn(result.code, (0, harness.INVALID_INPUT), f"{what}\n{result.text}")
            if result.code == harness.INVALID_INPUT and "--repair" in result.stderr:
                result = self.finished(self.search(yaml, "--results", run.name, "--quiet", "--repair", threads=2))
                self.assertEqual(result.code, 0, f"{what}\n{result.text}")
            if result.code == 0:
                self.expect_exact(result.json, "T1", what)


class RandomDamageLong(RandomDamage):
    rounds = 500


if __name__ == "__main__":
    harness.main()
