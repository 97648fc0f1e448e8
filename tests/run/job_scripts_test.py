#!/usr/bin/python3
"""The job scripts without a batch system: its commands are stand-ins that note how they were called."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent.parent.parent / "run"
HOSTILE = "runs/a #2 'x' \"y\" $(touch planted) `z` ; {} \\n, end"

# The search counts more nodes each time and stops as resumable; `show` says so. Every call is a line of arguments, separated by \x1f.
ESPALIER = """#!/bin/bash
(IFS=$'\\x1f'; printf '%s\\n' "espalier"$'\\x1f'"$*" >> "$CALLS")
case $1 in
search) mkdir -p -- "./$WANTED"; echo $(($(cat "./$WANTED/nodes" 2>/dev/null || echo 0) + 5)) > "./$WANTED/nodes"; exit 85 ;;
show) [[ ${@: -1} == "$WANTED" && -d ./$WANTED ]] || exit 3
      case $* in *--status*) echo time_limit; exit 85 ;; *) echo "\\"nodes\\": $(cat "./$WANTED/nodes")" ;; esac ;;
esac
"""
NOTED = """#!/bin/bash
(IFS=$'\\x1f'; printf '%s\\n' "${0##*/}"$'\\x1f'"$*" >> "$CALLS")
"""
LAUNCHER = NOTED + """while [[ $1 != */espalier ]]; do shift; done
"$@"
"""
QSUB = NOTED + """printf 'RUN=%s\\n' "$RUN" >> "$CALLS"
echo 2.server
"""


class JobScripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="espalier-test-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.calls = self.folder / "calls"
        for name, text in {"espalier": ESPALIER, "srun": LAUNCHER, "mpiexec": LAUNCHER, "scontrol": NOTED, "qsub": QSUB,
                           "squeue": "#!/bin/bash\necho 10:00\n", "qstat": "#!/bin/bash\necho '  Resource_List.walltime = 00:10:00'\n"}.items():
            self.command(name, text)
        (self.folder / "hosts").write_text("a\nb\n")
        (self.folder / "experiment.yaml").write_text("problem: {kind: uts, tree: T1}\nresults: {path: x}\n")

    def command(self, name: str, text: str) -> None:
        (self.folder / "bin").mkdir(exist_ok=True)
        (self.folder / "bin" / name).write_text(text)
        (self.folder / "bin" / name).chmod(0o755)

    def run_script(self, script: str, run: str, **settings) -> list[list[str]]:
        """How the commands were called."""
        env = {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "CALLS": str(self.calls), "WANTED": run, "RUN": run, "EXPERIMENT": "experiment.yaml",
               "ESPALIER": str(self.folder / "bin" / "espalier"), "SLURM_JOB_ID": "1", "SLURM_CPUS_PER_TASK": "3", "OMP_NUM_THREADS": "3", "PBS_JOBID": "1", "PBS_O_WORKDIR": str(self.folder),
               "PBS_NODEFILE": str(self.folder / "hosts"), **settings}
        done = subprocess.run(["bash", SCRIPTS / script], cwd=self.folder, env=env, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return [line.split("\x1f") for line in self.calls.read_text().splitlines()]

    def test_any_run_folder_reaches_the_program_as_it_is(self):
        for script in ("slurm.sh", "pbs.sh"):
            for run in (HOSTILE, "-x", "~", "a b"):
                with self.subTest(script=script, run=run):
                    self.calls.unlink(missing_ok=True)

                    calls = self.run_script(script, run)

                    searches = [call for call in calls if call[:2] == ["espalier", "search"]]
                    self.assertEqual(len(searches), 1, calls)
                    self.assertIn(f"--results={run}", searches[0])
                    self.assertEqual(searches[0][-1], "experiment.yaml")
                    self.assertEqual(searches[0][searches[0].index("--threads") + 1], "3")
                    self.assertFalse((self.folder / "planted").exists())

    def test_the_next_job_of_pbs_gets_the_same_folder(self):
        self.run_script("pbs.sh", HOSTILE, THREADS="2")

        text = self.calls.read_text()
        self.assertIn(f"RUN={HOSTILE}\n", text)
        self.assertIn("EXPERIMENT,RUN,", text)      # names alone: qsub splits values at commas


if __name__ == "__main__":
    sys.exit(0 if unittest.main(exit=False, verbosity=2).result.wasSuccessful() else 1)
