#!/usr/bin/python3
"""A real run, read as a user would with h5py and pandas. The types of all fields are tested in tests/store."""

import sys
from pathlib import Path

import h5py
import pandas

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import PUBLISHED, Case


def text(value) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


class ReadRun(Case):
    """A run that was stopped once on one rank and finished on two."""

    def setUp(self):
        super().setUp()
        yaml = self.stoppable()
        self.finished(self.search(yaml, *harness.STOP_EARLY, threads=2))
        self.summary = self.finished(self.search(yaml, ranks=2)).json

    def test_run_h5_says_what_the_summary_says(self):
        with h5py.File(self.folder / "run" / "run.h5") as run:
            meta = run["meta"]
            counters = pandas.DataFrame(run["counters"][:])
            funnel = {text(reason): int(count) for reason, count in zip(run["funnel"]["reason"], run["funnel"]["count"])}
            results = len(run["results"])

            self.assertEqual((text(meta.attrs["stop_reason"]), int(meta.attrs["exit_code"])), ("complete", 0))
            self.assertEqual(int(meta.attrs["nodes"]), PUBLISHED["T1"].nodes)
            self.assertIn("tree: T1", text(meta["config"][()]))
        self.assertEqual(funnel, {"leaf": PUBLISHED["T1"].leaves})
        self.assertIn(PUBLISHED["T1"].depth, list(counters["value"]))
        self.assertEqual(results, self.summary["results"])

    def test_executions_tell_where_and_how_long(self):
        with h5py.File(self.folder / "run" / "run.h5") as run:
            executions = pandas.DataFrame(run["meta/executions"][:])
            hosts = pandas.DataFrame(run["meta/hosts"][:])

        self.assertEqual(list(executions["ranks"]), [1, 2])
        self.assertEqual(list(executions["threads"]), [2, 1])
        self.assertEqual([text(reason) for reason in executions["stop_reason"]], ["node_limit", "complete"])
        self.assertEqual(list(hosts["execution"]), [0, 1, 1])
        self.assertAlmostEqual(executions["seconds"].sum(), self.summary["total_seconds"], places=6)
        self.assertAlmostEqual(executions["cpu_seconds"].sum(), self.summary["total_cpu_seconds"], places=6)
        self.assertIn("--max-nodes 100000", text(executions["command_line"][0]))

    def test_every_execution_leaves_the_trace_of_each_of_its_ranks(self):
        trace = self.folder / "run" / "trace"

        shards = sorted(trace.glob("segment-*/rank-*.h5"))

        self.assertEqual([str(shard.relative_to(trace)) for shard in shards],
                         ["segment-001/rank-000000.h5", "segment-002/rank-000000.h5", "segment-002/rank-000001.h5"])
        # More than the counts if the stop threw away what was not committed: that work was done twice.
        self.assertGreaterEqual(sum(map(self.traced_nodes, shards)), PUBLISHED["T1"].nodes)

    def test_the_traces_of_an_undisturbed_run_account_for_every_node(self):
        self.finished(self.search(self.folder / "experiment.yaml", "--results", "calm", ranks=3))

        shards = (self.folder / "calm" / "trace").glob("segment-*/rank-*.h5")

        self.assertEqual(sum(map(self.traced_nodes, shards)), PUBLISHED["T1"].nodes)

    def traced_nodes(self, shard: Path) -> int:
        with h5py.File(shard) as file:
            kinds = h5py.check_enum_dtype(file["events"].dtype["kind"])
            events = pandas.DataFrame(file["events"][:])
        chunks = events[events["kind"] == kinds["chunk"]]
        self.assertTrue((chunks["duration_ns"] >= 0).all())
        return int(chunks["nodes"].sum())


if __name__ == "__main__":
    harness.main()
