#!/usr/bin/python3
"""What a search writes: one JSON object or a summary on stdout; messages and progress on stderr, redrawn on a terminal only."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import DONE, ESPALIER, GRANULARITY, RESUMABLE, Case

PROGRESS = re.compile(r"[\d.]+ ?(ms|s) \| [\d.]+( [kMG])? nodes \| [\d.]+( [kMG])? nodes/s \| queue \d+ \| idle \d+/\d+ \| results \d+ \| best \S+")
COLOR = re.compile(r"\x1b\[[0-9;]*m")
REDRAW = "\r\x1b[K"
LONG_ENOUGH = GRANULARITY      # for a few lines of progress: about a second and a half on two quick cores

TYPES = {"problem": str, "stop_reason": str, "exit_code": int, "nodes": int, "results": int, "funnel": dict, "uts": dict,
         "seconds": float, "cpu_seconds": float, "total_seconds": float, "total_cpu_seconds": float, "phases": dict,
         "peak_rss_bytes": int, "ranks": int, "threads": int, "lost_ranks": int, "run": str}
PHASES = {"start", "search", "verify", "prove", "store", "idle"}


class JsonSummary(Case):
    def expect_every_key(self, summary: dict) -> None:
        self.assertLessEqual(set(TYPES), set(summary))
        self.assertEqual({key: type(summary[key]) for key in TYPES}, TYPES)
        self.assertLessEqual(PHASES, set(summary["phases"]))
        self.assertTrue(all(isinstance(value, float) and value >= 0 for value in summary["phases"].values()), summary)
        self.assertEqual({key: type(value) for key, value in summary["uts"].items()}, dict.fromkeys(("nodes", "leaves", "depth"), int))

    def test_it_has_every_key_with_its_type_and_is_all_that_is_on_stdout(self):
        for ranks, threads in ((1, 2), (3, 1)):
            with self.subTest(ranks=ranks, threads=threads):
                result = self.finished(self.search(self.experiment("T1"), "--force", ranks=ranks, threads=threads))

                self.assertEqual(result.code, DONE, result.text)
                summary = result.json
                self.expect_every_key(summary)
                self.expect_exact(summary, "T1")
                self.assertEqual((summary["problem"], summary["stop_reason"], summary["exit_code"], summary["run"]), ("uts", "complete", 0, "run"))
                self.assertEqual((summary["ranks"], summary["threads"], summary["lost_ranks"]), (ranks, threads, 0))

    def test_cpu_seconds_are_those_of_all_phases_and_memory_is_that_of_a_process(self):
        summary = self.finished(self.search(self.experiment("T1", granularity=2), ranks=2)).json

        self.assertAlmostEqual(sum(summary["phases"].values()), summary["cpu_seconds"], delta=0.1 * summary["cpu_seconds"] + 0.05)
        self.assertGreater(summary["peak_rss_bytes"], 1 << 20)
        self.assertLess(summary["peak_rss_bytes"], 1 << 32)

    def test_a_stopped_run_has_every_key_too(self):
        result = self.finished(self.search(self.stoppable(), *harness.STOP_EARLY))

        self.assertEqual(result.code, RESUMABLE, result.text)
        self.expect_every_key(result.json)
        self.assertEqual((result.json["stop_reason"], result.json["exit_code"]), ("node_limit", RESUMABLE))


class Progress(Case):
    def test_lines_are_plain_if_stderr_is_no_terminal(self):
        result = self.espalier("search", self.experiment("T1", granularity=LONG_ENOUGH), "--json")

        self.assertEqual(result.code, DONE, result.text)
        self.assertTrue(any(PROGRESS.fullmatch(line) for line in result.stderr.splitlines()), result.text)
        self.assertNotIn("\r", result.stderr)
        self.assertNotIn("\x1b", result.stderr)
        self.expect_exact(result.json, "T1")

    def test_quiet_says_nothing(self):
        result = self.espalier("search", self.experiment("T1", granularity=LONG_ENOUGH), "--json", "--quiet")

        self.assertEqual((result.code, result.stderr), (DONE, ""), result.text)

    def test_the_summary_is_on_stdout_and_everything_else_on_stderr(self):
        result = self.espalier("search", self.experiment("T1", granularity=LONG_ENOUGH))

        self.assertEqual(result.stdout, self.espalier("show", "run").stdout)
        self.assertTrue(PROGRESS.search(result.stderr), result.text)
        again = self.espalier("search", "experiment.yaml")
        self.assertEqual(again.stdout, result.stdout)
        self.assertIn("finished", again.stderr)

    def test_color_on_demand(self):
        self.espalier("search", self.experiment("T1"))

        self.assertTrue(COLOR.search(self.espalier("search", "experiment.yaml", "--color", "always").stderr))
        self.assertFalse(COLOR.search(self.espalier("search", "experiment.yaml").stderr))


class Live(Case):
    """`show` and `report` of a search in progress: they know what the progress line knows."""

    def setUp(self):
        super().setUp()
        yaml = self.experiment("T3", granularity=8 * GRANULARITY)
        self.finished(self.search(yaml, *harness.STOP_EARLY))
        self.job = self.search(yaml, "--set", "cluster.commit=10min")     # nothing is committed meanwhile
        self.job.until(lambda: (self.show()["progress"] or {}).get("nodes", 0) > self.show()["committed_nodes"], "progress in the run")

    def test_they_tell_the_last_record_of_progress_and_its_age(self):
        shown = self.show()

        self.assertEqual((shown["stop_reason"], shown["executions"]), ("running", 2))
        self.assertEqual(shown["nodes"], shown["progress"]["nodes"])
        self.assertGreater(shown["nodes"], shown["committed_nodes"])
        self.assertGreaterEqual(shown["progress_age_s"], 0)
        self.assertAlmostEqual(shown["nodes_per_s"], shown["nodes"] / shown["total_seconds"], delta=1e-6 * shown["nodes_per_s"])
        self.assertGreater(shown["total_seconds"], shown["seconds"])
        self.assertRegex(self.espalier("show", "run").stdout, r"recorded [\d.]+ \w+ ago, at ")
        self.assertEqual(self.espalier("report", "run", "--nodes", "none").code, DONE)
        page = (self.folder / "run" / "report.html").read_text()
        self.assertRegex(page, r"last record of progress, [\d.]+ \w+ old when this page was made")
        self.assertTrue(self.job.is_running)


class Terminal(Case):
    def on_terminal(self, *arguments, env: dict = {}) -> tuple[str, str]:
        """stdout, and stderr as a terminal of its own got it."""
        return self.on_terminal_of(ESPALIER, *map(str, arguments), env=env)

    def on_terminal_of(self, *command: str, env: dict = {}) -> tuple[str, str]:
        terminal, end = pty.openpty()
        with open(self._logs / "stdout", "wb") as out:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=end, cwd=self.folder, env=harness.environment(env))
        self.addCleanup(process.kill)
        os.close(end)
        written = self.read_to_the_end(terminal)
        self.assertEqual(process.wait(harness.TIMEOUT_S), DONE, written)
        return (self._logs / "stdout").read_text(), written

    @staticmethod
    def read_to_the_end(terminal: int) -> str:
        parts = []
        try:
            while part := os.read(terminal, 4096):
                parts.append(part)
        except OSError:
            pass        # Linux says so when the other end is closed
        os.close(terminal)
        return b"".join(parts).decode()

    def test_one_line_is_redrawn_and_gone_at_the_end(self):
        stdout, stderr = self.on_terminal("search", self.experiment("T1", granularity=LONG_ENOUGH), "--color", "never")

        lines = stderr.split(REDRAW)
        self.assertGreaterEqual(sum(bool(PROGRESS.fullmatch(line)) for line in lines), 2, repr(stderr))
        self.assertNotIn("\n", stderr, "it stays one line")
        self.assertEqual(lines[-1], "", "what follows starts on a clean line")
        self.assertIn("4,130,071", stdout)
        self.assertNotIn("\x1b", stdout)

    def under_mpiexec(self, *command: str) -> str:
        """What mpiexec writes on a terminal of its own."""
        return self.on_terminal_of(*harness.launcher(2), *command)[1]

    def test_under_mpiexec_the_line_is_redrawn_where_mpiexec_has_a_terminal(self):
        yaml = str(self.experiment("T1", granularity=LONG_ENOUGH))
        search = [ESPALIER, "search", yaml, "--force", "--color", "never", "--threads", "1"]

        written = self.under_mpiexec(*search)
        self.assertGreaterEqual(sum(bool(PROGRESS.fullmatch(line)) for line in written.split(REDRAW)), 2, repr(written))
        shell = " ".join(search)
        for redirected in ("2>log", "2>&1 >/dev/null | cat >log"):      # the terminal is there, but stderr goes elsewhere
            with self.subTest(redirected):
                written = self.under_mpiexec("sh", "-c", f"{shell} {redirected}")
                self.assertNotIn("\x1b", written)
                self.assertNotIn("\x1b", (self.folder / "log").read_text())

    def test_under_mpiexec_with_stderr_in_a_file_lines_are_plain(self):
        yaml = str(self.experiment("T1", granularity=LONG_ENOUGH))
        inner = " ".join([*harness.launcher(2), ESPALIER, "search", yaml, "--threads", "1"])
        _, written = self.on_terminal_of("sh", "-c", f"{inner} 2>log")

        log = (self.folder / "log").read_text()
        self.assertTrue(any(PROGRESS.fullmatch(line) for line in log.splitlines()), log)
        self.assertNotIn("\x1b", log + written)

    def test_messages_are_colored_unless_no_color_is_set(self):
        self.on_terminal("search", self.experiment("T1"))
        for env, arguments, is_colored in (({}, [], True), ({"NO_COLOR": "1"}, [], False), ({"NO_COLOR": ""}, [], True),
                                           ({}, ["--color", "never"], False), ({"NO_COLOR": "1"}, ["--color", "always"], True)):
            with self.subTest(env=env, arguments=arguments):
                stdout, stderr = self.on_terminal("search", "experiment.yaml", *arguments, env=env)

                self.assertIn("finished", stderr)
                self.assertEqual(bool(COLOR.search(stderr)), is_colored, repr(stderr))
                self.assertFalse(COLOR.search(stdout))


if __name__ == "__main__":
    harness.main()
