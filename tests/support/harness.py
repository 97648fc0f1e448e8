"""What the end-to-end tests share: experiments, jobs that are started, watched, signalled and always cleaned up, and the
published counts.

Environment: ESPALIER is the executable, MPIEXEC the launcher (default `mpiexec`), ESPALIER_RESEAL the helper of tests/store,
ESPALIER_TEST_GRANULARITY how slow nodes are in tests that need time to disturb a run (default 50: T1 takes about 3 CPU seconds, and on
a quicker machine nodes are made slower until it does, see pace(); instrumented builds want less),
ESPALIER_TEST_SLOWNESS by which factor this build is slower than a release (default 1): time limits and leases grow with it.
A script of tests ends with `harness.main()`, which returns 77 if every test was skipped.
"""

import contextlib
import ctypes
import functools
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid
from pathlib import Path
from typing import Callable, NamedTuple, Optional

ESPALIER = os.environ.get("ESPALIER", "espalier")
MPIEXEC = os.environ.get("MPIEXEC", "mpiexec")
RESEAL = os.environ.get("ESPALIER_RESEAL", "reseal")
GRANULARITY = int(os.environ.get("ESPALIER_TEST_GRANULARITY", "50"))
SLOWNESS = float(os.environ.get("ESPALIER_TEST_SLOWNESS", "1"))
TIMEOUT_S = 150 * SLOWNESS      # of one process; a hang is then a failure that says what the process printed
SKIPPED = 77        # CTest's SKIP_RETURN_CODE
JOB_VARIABLE = "ESPALIER_TEST_JOB"      # marks every process that a Job started, however deep

DONE, FAILURE, USAGE, INVALID_INPUT, VERIFICATION_FAILED, NOTHING_FOUND, RESUMABLE = 0, 1, 2, 3, 4, 5, 85

# Leases so short that a test can wait for one, and a state on disk that is never older than a moment.
SHORT_LEASE = ["--set", f"cluster.lease={SLOWNESS:g}s", "--set", "cluster.commit=200ms"]
EAGER_CHECKPOINTS = ["--set", "cluster.checkpoint=300ms", "--set", "cluster.commit=200ms"]
# A node limit is kept to about what a budget holds: with the default one a short run may be over first. The thread that keeps it may
# have to wait for a core, so that the search must be long: see Case.stoppable().
SMALL_BUDGET = ["--set", "cluster.budget=10ms"]
STOP_EARLY = ["--max-nodes", "100000", *SMALL_BUDGET]


class Tree(NamedTuple):
    nodes: int
    leaves: int
    depth: int


# Olivier et al., "UTS: An Unbalanced Tree Search Benchmark" (LCPC 2006), and the sample_trees.sh of UTS 2.1.
PUBLISHED = {"T1": Tree(4130071, 3305118, 10), "T2": Tree(4117769, 2342762, 81), "T3": Tree(4112897, 3599034, 1572),
             "T4": Tree(4132453, 3108986, 134), "T5": Tree(4147582, 2181318, 20),
             "T3L": Tree(111345631, 89076904, 17844)}


@functools.cache
def pace() -> float:
    """How much quicker this machine does a search than the one for which granularities are written, at least 1: what comes at a fixed time
    (a line of progress, a lease, a checkpoint, a limit) then finds as much left to do as there. CPU time, so that others do not matter."""
    with tempfile.TemporaryDirectory(prefix="espalier-pace-") as folder:
        Path(folder, "pace.yaml").write_text("problem: {kind: uts, tree: {type: geometric, shape: fixed, b: 4, depth: 8, seed: 19}, granularity: 50}\n"
                                             "results: {path: run}\n")
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        subprocess.run([ESPALIER, "search", "pace.yaml", "--quiet", "--threads", "1"], cwd=folder, env=environment(), stdout=subprocess.DEVNULL, check=True)
        took_s = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    cores = min(len(os.sched_getaffinity(0)), 4)    # no test has more ranks and threads than four
    return max(1.0, 0.2 / took_s) * max(1.0, cores / 2)


@contextlib.contextmanager
def one_core():
    """What is started meanwhile has a single core, all of its ranks and threads together: it takes as long wherever there are more."""
    all_cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(all_cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, all_cores)


def launcher(ranks: int, *, isolated: bool = False) -> list[str]:
    """The mpiexec command; `isolated` gives each rank its own proxy, as on nodes of its own, so that one can die alone."""
    if not isolated:
        return [MPIEXEC, "-n", str(ranks)]
    hosts = ",".join(f"n{rank}" for rank in range(ranks))
    return [MPIEXEC, "-launcher", "fork", "-hosts", hosts, "-disable-auto-cleanup", "-n", str(ranks)]


def environment(extra: Optional[dict] = None) -> dict:
    """Without what an outer MPI or Slurm job, or a user's taste, would tell the program."""
    taken = ("PMI_", "PMIX_", "SLURM_", "OMPI_", "HYDI_", "MPI_", "NO_COLOR", "OMP_")
    clean = {key: value for key, value in os.environ.items() if not key.startswith(taken)}
    return {**clean, **(extra or {})}


def processes_of(job: str) -> dict[int, dict[str, str]]:
    """The living processes with the job's mark: pid -> environment."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            variables = dict(item.split("=", 1) for item in (entry / "environ").read_text(errors="replace").split("\0") if "=" in item)
            is_zombie = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
        except OSError:
            continue        # gone meanwhile, or another user's
        if variables.get(JOB_VARIABLE) == job and not is_zombie:
            found[int(entry.name)] = variables
    return found


def starved_s(job: str) -> float:
    """How long the threads of the job's processes have been ready and had no core."""
    total_ns = 0
    for pid in processes_of(job):
        for thread in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError):
                total_ns += int(thread.read_text().split()[1])
    return 1e-9 * total_ns


def parent_of(pid: int) -> int:
    """Of a rank: the proxy that the launcher has on its host."""
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def send(pid: int, number: signal.Signals) -> None:
    """To a process that may have ended meanwhile."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def kill(*pids: int) -> None:
    """kill -9 of all of these at the same instant, as far as one process can."""
    for pid in pids:
        send(pid, signal.SIGKILL)


def _die_with_parent() -> None:
    """So that a test that is itself killed (CTest's timeout) leaves nothing: hydra's proxies end when mpiexec does."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


class Job:
    """A command that runs in the background; stdout and stderr go to files that can be read meanwhile.

    All signals go to processes that this object started, by their pid. `end()` leaves none of them.
    """

    def __init__(self, command: list, *, folder: Path, cwd: Optional[Path] = None, env: Optional[dict] = None):
        self.command = [str(part) for part in command]
        self.id = uuid.uuid4().hex
        self._stdout, self._stderr = folder / f"{self.id}.out", folder / f"{self.id}.err"
        with open(self._stdout, "wb") as out, open(self._stderr, "wb") as err:
            self._process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=cwd,
                                             env={**environment(env), JOB_VARIABLE: self.id}, start_new_session=True, preexec_fn=_die_with_parent)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def stdout(self) -> str:
        return self._stdout.read_text(errors="replace")

    @property
    def stderr(self) -> str:
        return self._stderr.read_text(errors="replace")

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    @property
    def was_given_up(self) -> bool:
        """By the launcher. When ranks on two hosts die within a moment of each other, hydra (MPICH 4.0.2) tells the proxy of the second of
        the death of the first; if that proxy has gone already, mpiexec dies of SIGPIPE or, where that is ignored, of an error that it prints,
        and takes all ranks with it: 6 times out of 80 with ranks that only sleep. No rank can prevent that."""
        return self._process.poll() == -signal.SIGPIPE or "process manager error" in self.stderr

    def ranks(self) -> dict[int, int]:
        """rank -> pid of the ranks that live."""
        name = Path(shutil.which(ESPALIER) or ESPALIER).name
        found = {}
        for pid, variables in processes_of(self.id).items():
            try:
                is_rank = Path(f"/proc/{pid}/comm").read_text().strip() == name[:15]
            except OSError:
                continue
            if is_rank and "PMI_RANK" in variables:
                found[int(variables["PMI_RANK"])] = pid
        return found

    def signal(self, number: signal.Signals) -> None:
        """To the process that was started: under MPI that is mpiexec, which forwards it."""
        if self.is_running:
            os.kill(self.pid, number)

    def wait(self, timeout_s: float = TIMEOUT_S) -> int:
        """Longer, up to eight times, while it does not hang but waits for a core most of the time: others may have the machine."""
        for waited_s in (timeout_s, 2 * timeout_s, 4 * timeout_s, 8 * timeout_s):
            before_s = starved_s(self.id)
            try:
                return self._process.wait(waited_s if waited_s == timeout_s else waited_s / 2)
            except subprocess.TimeoutExpired:
                if starved_s(self.id) - before_s < 0.2 * timeout_s:
                    break
        raise AssertionError(f"still running after {waited_s} s: {self.describe()}")

    def until(self, condition: Callable[[], object], what: str, timeout_s: float = 120 * SLOWNESS):
        """Polls until the condition is true and returns its value; a run that ends before has been too short for the test."""
        deadline = time.monotonic() + timeout_s
        while True:
            was_running = self.is_running
            value = condition()
            if value:
                return value
            if not was_running:
                raise AssertionError(f"ended before {what}: {self.describe()}")
            if time.monotonic() > deadline:
                raise AssertionError(f"not after {timeout_s} s: {what}: {self.describe()}")
            time.sleep(0.05)

    def until_says(self, text: str, timeout_s: float = 120 * SLOWNESS) -> None:
        self.until(lambda: text in self.stderr, f"saying {text!r}", timeout_s)

    def until_searching(self, beyond: int = 0) -> None:
        """The first line of progress is printed some 0.3 s after the start. It must tell of more nodes than an earlier execution did."""
        self.until(lambda: any(nodes > 1.01 * beyond for nodes in self.told_nodes()), "showing progress")

    def told_nodes(self) -> list[float]:
        """As lines of progress say: to three digits."""
        told = re.findall(r"([\d.]+) ?([kMG]?) nodes \|", self.stderr)
        return [float(number) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[unit] for number, unit in told]

    def until_ranks_have_ended(self) -> None:
        """By themselves: a launcher that has ended, well or not, may leave some for a moment."""
        deadline = time.monotonic() + 120 * SLOWNESS
        while left := self.ranks():
            if time.monotonic() > deadline:
                raise AssertionError(f"ranks that do not end: {sorted(left)}: {self.describe()}")
            time.sleep(0.1)

    def kill_everything(self) -> None:
        """kill -9 of the launcher, its proxies and all ranks, as when a machine loses power."""
        deadline = time.monotonic() + 30
        while (pids := processes_of(self.id)) and time.monotonic() < deadline:
            kill(*pids)
            time.sleep(0.02)
        self._process.wait(30)

    def end(self) -> None:
        self.kill_everything()

    def describe(self) -> str:
        return f"{' '.join(self.command)}\n--- exit code {self._process.poll()}, stdout:\n{self.stdout}\n--- stderr:\n{self.stderr}"


class Result(NamedTuple):
    """A command that has ended."""
    code: int
    stdout: str
    stderr: str
    text: str       # all of it, for messages of failed tests

    @property
    def json(self):
        try:
            return json.loads(self.stdout)
        except json.JSONDecodeError as error:
            raise AssertionError(f"stdout is no JSON ({error}): {self.text}") from None


def hashes(folder: Path) -> dict[str, str]:
    """Path -> content hash of all files in a folder: equal before and after means that nothing was overwritten."""
    return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
            for file in sorted(folder.rglob("*")) if file.is_file()}


def texts_of(run) -> list[str]:
    """The programs of an open run.h5, as its README says."""
    ends, text = run["programs/text_offsets"][:], run["programs/text"][:].tobytes()
    return [text[first:last].decode() for first, last in zip(ends, ends[1:])]


@contextlib.contextmanager
def changed(file: Path, kind: str = "run"):
    """An open run.h5 or (kind `shard`) trace shard, which counts as whole again when it is closed: its checksums fit to it."""
    import h5py

    content = file.read_bytes()
    end = len(content) - 24 if kind == "run" else int.from_bytes(content[-32:-24], "little")
    file.write_bytes(content[:end])
    with h5py.File(file, "r+") as opened:
        yield opened
    subprocess.run([RESEAL, kind, str(file)], check=True)


class Case(unittest.TestCase):
    """A test with a folder of its own, in which it runs programs; everything is gone afterwards."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="espalier-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self._logs = self.folder / ".logs"
        self._logs.mkdir()

    def run(self, result=None):
        try:
            return super().run(result)
        except KeyboardInterrupt:       # unittest leaves without cleaning up
            self.doCleanups()
            raise

    def file(self, name: str, content: str) -> Path:
        """In one step: a job that starts meanwhile and reads the same name never sees half of it."""
        path = self.folder / name
        part = self._logs / uuid.uuid4().hex
        part.write_text(content)
        os.replace(part, path)
        return path

    def experiment(self, tree: str = "T1", *, granularity: int = 1, name: str = "experiment.yaml") -> Path:
        """A tree with a granularity of its own is one that takes time: as much as written on every machine."""
        slowness = granularity if granularity == 1 else round(granularity * pace())
        return self.file(name, f"problem: {{kind: uts, tree: {tree}, granularity: {slowness}}}\nresults: {{path: run}}\n")

    def stoppable(self, tree: str = "T1", **name) -> Path:
        """More than a CPU second: a node limit at a fortieth of it stops it on a machine that is busy otherwise, too."""
        return self.experiment(tree, granularity=2 * GRANULARITY // 5, **name)

    def superoptimization(self, program: str, space: str = "mirage", *, prune: str = "native", name: str = "experiment.yaml") -> Path:
        """The program is a built-in with its sizes, e.g. `builtin: gated_mlp, tokens: 8`."""
        return self.file(name, f"problem: {{kind: mugraph, program: {{{program}}}, space: {space}, prune: {prune}}}\nresults: {{path: run}}\n")

    def start(self, *command, env: Optional[dict] = None) -> Job:
        job = Job(list(command), folder=self._logs, cwd=self.folder, env=env)
        self.addCleanup(job.end)
        return job

    def finished(self, job: Job) -> Result:
        code = job.wait()
        return Result(code, job.stdout, job.stderr, job.describe())

    def espalier(self, *arguments, env: Optional[dict] = None) -> Result:
        return self.finished(self.start(ESPALIER, *arguments, env=env))

    def search(self, experiment: Path, *arguments, ranks: int = 1, threads: int = 1, isolated: bool = False) -> Job:
        """Starts a search with --json; one rank is one process without launcher, unless it is isolated."""
        prefix = launcher(ranks, isolated=isolated) if ranks > 1 or isolated else []
        return self.start(*prefix, ESPALIER, "search", experiment, "--json", "--threads", threads, *arguments)

    def show(self, run: str = "run") -> dict:
        result = self.espalier("show", run, "--json")
        self.assertEqual(result.code, 0, result.text)
        return result.json

    def answer(self, run: str = "run") -> set[tuple]:
        """What a superoptimizer's run found, as a set; costs are compared to a relative 1e-9."""
        programs = self.show(run)["results"]
        found = {(one["key"], f"{one['cost_us']:.9e}", one["verified"]) for one in programs}
        self.assertEqual(len(found), len(programs), "a program was stored twice")
        return found

    def status(self, run: str = "run") -> tuple[int, str]:
        result = self.espalier("show", run, "--status")
        return result.code, result.stdout.strip()

    def nodes_on_disk(self, run: str = "run") -> int:
        """What a kill -9 would leave; 0 before the run's first file."""
        result = self.espalier("show", run, "--json")
        return result.json["committed_nodes"] if result.code == 0 else 0

    def has_checkpoint(self, run: str = "run") -> bool:
        return (self.folder / run / "checkpoint.h5").exists()

    def expect_exact(self, summary: dict, tree: str, context: str = "") -> None:
        counts = summary.get("uts", {})
        self.assertEqual(Tree(counts.get("nodes"), counts.get("leaves"), counts.get("depth")), PUBLISHED[tree], f"{summary}\n{context}")
        self.assertEqual(summary["nodes"], PUBLISHED[tree].nodes, context)
        self.assertEqual(summary["funnel"], {"leaf": PUBLISHED[tree].leaves}, context)

    def expect_complete(self, tree: str, job: Optional[Job] = None, run: str = "run") -> dict:
        """The run in the folder is finished and exact, for `show`, for job scripts, and in what the job printed."""
        context = job.describe() if job else ""
        summary = self.show(run)
        self.assertEqual((summary["stop_reason"], summary["exit_code"]), ("complete", DONE), context)
        self.expect_exact(summary, tree, context)
        self.assertEqual(self.status(run), (DONE, "complete"), context)
        if job:
            self.assertEqual(self.finished(job).json["uts"], summary["uts"], context)
        return summary

    def expect_stopped(self, word: str, run: str = "run", context: str = "") -> dict:
        """The run in the folder was stopped for this reason and can go on."""
        self.assertEqual(self.status(run), (RESUMABLE, word), context)
        summary = self.show(run)
        self.assertEqual((summary["stop_reason"], summary["exit_code"]), (word, RESUMABLE), context)
        return summary

    def expect_ranks_to_give_up(self, sentence: str, *command, env: Optional[dict] = None, tries: int = 5) -> Job:
        """Two ranks of the command wait inside MPI for a third process, which is not a rank at all; each says the sentence and ends. A
        launcher that gives up (see Job.was_given_up) takes the second one with it before it can: then it is tried again. The third one
        ignores the signal by which hydra tells of dead ranks: it would be one more death at the same moment."""
        for _ in range(tries):
            job = self.start(*launcher(3, isolated=True)[:-2], "-n", 2, ESPALIER, *command, ":", "-n", 1, "sh", "-c", "trap '' USR1; exec sleep 60", env=env)
            job.until(lambda: job.stderr.count(sentence) == 2 or job.was_given_up, "both ranks gave up")
            job.until_ranks_have_ended()
            self.assertIn(sentence, job.stderr, job.describe())
            if job.stderr.count(sentence) == 2:
                return job
        raise AssertionError(f"the launcher gave up {tries} times: {job.describe()}")

    def until_launcher_bears_it(self, experiment: Path, disturb: Callable[[], Job], *, tries: int = 5) -> Job:
        """The first job that the launcher did not give up (see Job.was_given_up). `disturb` starts one and returns when it has ended; each
        that was given up must have left a run that the same command finishes."""
        for _ in range(tries):
            job = disturb()
            if not job.was_given_up:
                return job
            job.until_ranks_have_ended()
            self.assertIn(self.status(), [(RESUMABLE, "interrupted"), (DONE, "complete")], job.describe())
            again = self.finished(self.search(experiment, ranks=2))
            self.assertEqual(again.code, DONE, again.text)
            shutil.rmtree(self.folder / "run")
        raise AssertionError(f"the launcher gave up {tries} times: {job.describe()}")

    def expect_refused(self, result: Result, *words: str, code: int = INVALID_INPUT) -> None:
        """A clear message on stderr and the documented exit code; nothing on stdout."""
        self.assertEqual(result.code, code, result.text)
        for word in words:
            self.assertIn(word, result.stderr, result.text)
        self.assertEqual(result.stdout, "", result.text)


def main() -> None:
    """unittest.main with CTest's way of saying that everything was skipped."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)      # ends after the cleanups of the test
    outcome = unittest.main(module="__main__", exit=False, verbosity=2).result
    if not outcome.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIPPED if outcome.testsRun > 0 and len(outcome.skipped) == outcome.testsRun else 0)
