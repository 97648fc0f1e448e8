#!/usr/bin/python3
"""N processes that do not know of each other: one writes a run folder, the others are refused before they do harm."""

import platform
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import GRANULARITY, Case


class Singletons(Case):
    def test_a_second_process_on_a_folder_is_refused_by_pid_and_host_and_the_first_ends_exact(self):
        experiment = self.experiment("T1", granularity=GRANULARITY)
        first = self.search(experiment)
        first.until_searching()

        second = self.finished(self.search(experiment))

        self.expect_refused(second, "lock", f"process {first.pid} on host {platform.node()}", "results.path")
        self.assertEqual(first.wait(), 0, first.describe())
        self.expect_complete("T1", first)

    def test_force_does_not_replace_a_run_that_is_being_written(self):
        experiment = self.experiment("T1", granularity=2 * GRANULARITY)
        first = self.search(experiment, threads=2)
        first.until_searching()

        self.expect_refused(self.finished(self.search(experiment, "--force")), f"process {first.pid} ")

        self.assertEqual(first.wait(), 0, first.describe())
        self.expect_complete("T1", first)

    def test_of_four_processes_that_start_together_one_ends_exact(self):
        experiment = self.experiment("T1", granularity=GRANULARITY)

        jobs = [self.search(experiment) for _ in range(4)]
        results = [self.finished(job) for job in jobs]

        self.assertEqual(sorted(result.code for result in results), [0, 3, 3, 3], "\n".join(result.text for result in results))
        self.expect_complete("T1")

    def test_a_lock_that_a_killed_process_left_does_not_lock(self):
        experiment = self.experiment("T1", granularity=GRANULARITY)
        first = self.search(experiment)
        first.until_searching()
        first.kill_everything()
        self.assertTrue((self.folder / "run" / "lock").exists())

        again = self.search(experiment, threads=2)

        self.assertEqual(again.wait(), 0, again.describe())
        self.expect_complete("T1", again)
        self.assertFalse((self.folder / "run" / "lock").exists())

    def refused(self, variables: dict, *words: str) -> None:
        result = self.espalier("search", self.experiment("T1"), env=variables)

        self.expect_refused(result, *words)
        self.assertFalse((self.folder / "run").exists())

    def test_srun_without_pmi2_is_refused_with_the_remedy(self):
        self.refused({"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "4"}, "srun", "4 processes", "--mpi=pmi2")

    def test_open_mpis_mpirun_is_refused_with_the_remedy(self):
        self.refused({"OMPI_COMM_WORLD_SIZE": "4"}, "Open MPI", "mpiexec.mpich")

    def test_one_task_of_srun_is_no_mistake(self):
        for variables in ({"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "1"}, {"SLURM_JOB_ID": "7", "SLURM_NTASKS": "4"}):
            with self.subTest(variables):
                result = self.espalier("search", self.experiment("T1"), "--force", env=variables)

                self.assertEqual(result.code, 0, result.text)


if __name__ == "__main__":
    harness.main()
