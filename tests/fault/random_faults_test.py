#!/usr/bin/python3
"""Random faults: searches that are killed, paused, signalled and limited at random moments, again and again, until they are left in
peace. No wrong answer, no hang, no rank that dies of anything but what was done to it.

ESPALIER_TEST_FAULTS is the number of searches (2), ESPALIER_TEST_SEED the seed of the first (1); a failure names the seed of its search,
and `ESPALIER_TEST_FAULTS=1 ESPALIER_TEST_SEED=...` repeats its draws."""

import hashlib
import os
import random
import re
import signal
import sys
import time
from pathlib import Path
from typing import Callable, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import DONE, FAILURE, RESUMABLE, Case, Job, Tree

SEARCHES = int(os.environ.get("ESPALIER_TEST_FAULTS", "2"))
FIRST_SEED = int(os.environ.get("ESPALIER_TEST_SEED", "1"))
HORIZON_S = 5 * harness.SLOWNESS    # faults come within this time; a search takes about as long
LEASE_S = 1 * harness.SLOWNESS
# What a process prints that dies of something that nobody did to it. While it starts, MPI itself may notice that a rank was killed.
CRASH = re.compile(r"backtrace|Caught signal|signal (6|7|8|11)\b|Assertion|terminate called|Segmentation|Sanitizer|runtime error|UCX +(ERROR|FATAL)|Fatal error(?! in internal_Init)")


def counted(b: int, q: float, m: int, seed: int) -> Tree:
    """Nodes, leaves and depth of a binomial tree of UTS, after its definition."""
    root = hashlib.sha1(bytes(16) + seed.to_bytes(4, "big")).digest()
    stack, nodes, leaves, deepest = [(root, 0)], 0, 0, 0
    while stack:
        state, depth = stack.pop()
        draw = (int.from_bytes(state[16:], "big") & 0x7FFFFFFF) / 2**31
        children = b if depth == 0 else m if draw < q else 0
        nodes, leaves, deepest = nodes + 1, leaves + (children == 0), max(deepest, depth)
        stack += ((hashlib.sha1(state + i.to_bytes(4, "big")).digest(), depth + 1) for i in range(children))
    return Tree(nodes, leaves, deepest)


class Fault(NamedTuple):
    at_s: float
    name: str
    do: Callable[[Job], None]


def kill(victims: list[int]) -> Callable[[Job], None]:
    return lambda job: harness.kill(*(pid for rank, pid in job.ranks().items() if rank in victims))


def send(number: signal.Signals, victim: int) -> Callable[[Job], None]:
    """To a rank, or to the launcher (-1)."""
    def do(job: Job) -> None:
        if victim < 0:
            job.signal(number)
        elif victim in (ranks := job.ranks()):
            harness.send(ranks[victim], number)
    return do


class RandomFaults(Case):
    def test_a_search_is_exact_whatever_happens_to_it(self):
        for seed in range(FIRST_SEED, FIRST_SEED + SEARCHES):
            with self.subTest(seed=seed):
                start = time.monotonic()
                self.history = []
                outcome = "FAILED"
                try:
                    self.search_with_faults(random.Random(seed), f"run{seed}")
                    outcome = "exact"
                finally:        # at once, because unittest tells of failures only at the end
                    what = f"{outcome} after {time.monotonic() - start:.0f} s: {'; '.join(self.history)}"
                    print(f"seed {seed}: {what}\n{sys.exc_info()[1] or ''}", file=sys.stderr, flush=True)

    # --- what is searched

    def problem(self, draw: random.Random) -> tuple[str, Callable[[str], None]]:
        """The experiment's text and what a finished run must pass."""
        kind = draw.choices(["custom", "T1", "T3", "mugraph", "T3L"], [4, 1, 2, 1, 0 if SEARCHES < 10 else 1])[0]
        self.history.append(kind)
        if kind == "mugraph":
            return self.superoptimizer()
        if kind != "custom":
            granularity = 1 if kind == "T3L" else harness.GRANULARITY
            return f"{{kind: uts, tree: {kind}, granularity: {granularity}}}", lambda run: self.expect_tree(run, harness.PUBLISHED[kind])
        b, m, seed = draw.choice([500, 3000, 20000]), draw.choice([2, 4, 8]), draw.randrange(1000)
        q, nodes = 0.8 / m, 5 * b       # on average
        granularity = max(1, harness.GRANULARITY * 4_000_000 // nodes)
        expected = counted(b, q, m, seed)
        text = f"{{kind: uts, tree: {{type: binomial, b: {b}, q: {q}, m: {m}, seed: {seed}}}, granularity: {granularity}}}"
        return text, lambda run: self.expect_tree(run, expected)

    def expect_tree(self, run: str, expected: Tree) -> None:
        summary = self.show(run)
        counts = summary["uts"]
        self.assertEqual(Tree(counts["nodes"], counts["leaves"], counts["depth"]), expected, summary)
        self.assertEqual((summary["nodes"], summary["funnel"]), (expected.nodes, {"leaf": expected.leaves}), summary)

    def superoptimizer(self) -> tuple[str, Callable[[str], None]]:
        text = "{kind: mugraph, program: {builtin: gated_mlp, tokens: 8, hidden: 512, out: 512}, space: {from: full, max_kernel_ops: 2}}"
        if not (self.folder / "reference").exists():
            calm = self.finished(self.search(self.written(text, "reference"), "--quiet"))
            self.assertEqual(calm.code, DONE, calm.text)
        expected = self.answer("reference")
        return text, lambda run: self.assertEqual(self.answer(run), expected)

    def written(self, problem: str, run: str) -> Path:
        return self.file(f"{run}.yaml", f"problem: {problem}\nresults: {{path: {run}}}\n")

    # --- what happens to it

    def search_with_faults(self, draw: random.Random, run: str) -> None:
        problem, expect_right = self.problem(draw)
        experiment = self.written(problem, run)
        for _ in range(draw.randint(1, 3)):
            if self.is_complete(run):
                break
            self.disturbed(draw, experiment, run)
        if not self.is_complete(run):
            ranks = draw.randint(1, 3)
            self.history.append(f"in peace on {ranks}")
            last = self.search(experiment, "--quiet", ranks=ranks, isolated=ranks > 1)
            self.expect_calm(last)
            self.assertEqual(last.wait(), DONE, last.describe())
        self.assertEqual(self.status(run), (DONE, "complete"))
        expect_right(run)

    def is_complete(self, run: str) -> bool:
        return (self.folder / run / "run.h5").exists() and self.status(run)[1] == "complete"

    def disturbed(self, draw: random.Random, experiment: Path, run: str) -> None:
        ranks, threads = draw.randint(1, 5), draw.randint(1, 2)
        settings = self.settings(draw)
        faults = sorted((self.fault(draw, ranks) for _ in range(draw.randint(1, 3))), key=lambda fault: fault.at_s)
        self.history.append(f"{ranks} x {threads} {' '.join(settings[1::2])}: " + ", ".join(f"{fault.name} at {fault.at_s:.2f} s" for fault in faults))
        job = self.search(experiment, "--quiet", *settings, ranks=ranks, threads=threads, isolated=ranks > 1)
        start = time.monotonic()
        for fault in faults:
            while job.is_running and time.monotonic() < start + fault.at_s:
                time.sleep(0.005)
            fault.do(job)
        self.expect_calm(job)
        job.end()
        self.expect_resumable(run, job)

    def settings(self, draw: random.Random) -> list[str]:
        chosen = {"cluster.lease": f"{LEASE_S}s", "cluster.start": f"{round(10 * harness.SLOWNESS)}s",
                  "cluster.commit": draw.choice(["10ms", "20ms", "200ms", "1s"]), "cluster.budget": draw.choice(["1ms", "20ms", "200ms"]),
                  "cluster.checkpoint": draw.choice(["100ms", "500ms", "5min"]), "cluster.group": draw.choice(["2", "2", "3", "200"])}
        if draw.random() < 0.2:
            chosen["search.max_time"] = f"{draw.uniform(0.3, HORIZON_S):.2f}s"
        return [part for key, value in chosen.items() for part in ("--set", f"{key}={value}")]

    def fault(self, draw: random.Random, ranks: int) -> Fault:
        at_s = draw.uniform(0, 0.5) if draw.random() < 0.2 else draw.uniform(0, HORIZON_S)
        kind = draw.choices(["kill", "kill several", "kill rank 0", "kill the launcher", "pause", "signal to the launcher", "signal to a rank"],
                            [4, 4, 1, 1, 3, 3, 2])[0]
        victim = draw.randrange(1, ranks) if ranks > 1 else 0
        if kind == "kill":
            return Fault(at_s, f"kill {victim}", kill([victim]))
        if kind == "kill several":
            victims = draw.sample(range(1, ranks), draw.randint(1, ranks - 1)) if ranks > 1 else [0]
            return Fault(at_s, f"kill {victims}", kill(victims))
        if kind == "kill rank 0":
            return Fault(at_s, "kill 0", kill([0]))
        if kind == "kill the launcher":
            return Fault(at_s, kind, send(signal.SIGKILL, -1))
        if kind == "pause":
            victim, pause_s = draw.randrange(ranks), draw.choice([0.3, 3]) * LEASE_S
            return Fault(at_s, f"pause {victim} for {pause_s} s", self.pause(victim, pause_s))
        number = draw.choice([signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR1])
        target = -1 if kind == "signal to the launcher" else draw.randrange(ranks)
        return Fault(at_s, f"{number.name} to {'launcher' if target < 0 else target}", send(number, target))

    @staticmethod
    def pause(victim: int, pause_s: float) -> Callable[[Job], None]:
        def do(job: Job) -> None:
            send(signal.SIGSTOP, victim)(job)
            time.sleep(pause_s)
            send(signal.SIGCONT, victim)(job)
        return do

    # --- what must hold however it ended

    def expect_calm(self, job: Job) -> None:
        """It ends, launcher and ranks, and no rank died of itself."""
        job.wait()
        job.until_ranks_have_ended()
        self.assertNotRegex(job.stderr, CRASH, job.describe())

    def expect_resumable(self, run: str, job: Job) -> None:
        if not (self.folder / run / "run.h5").exists():
            return      # it ended before it had begun
        code, word = self.status(run)
        self.assertIn((code, word), [(DONE, "complete"), *((RESUMABLE, word) for word in ("interrupted", "signal", "time_limit"))], job.describe())


if __name__ == "__main__":
    harness.main()
