#!/usr/bin/python3
"""Reads the run folder that write_sample wrote, as a user would, with h5py and pandas. Usage: read_run.py FOLDER"""
import math
import sys
from pathlib import Path

import h5py
import pandas

VERIFICATION = {"counted": 0, "random": 1, "proved": 2, "partial": 3}
KINDS = ["chunk", "query", "verify", "wait", "send", "receive", "write", "commit"]


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def expect(what, got, wanted):
    if got != wanted:
        sys.exit(f"read_run.py: {what}: got {got!r}, wanted {wanted!r}")


def check_meta(meta):
    attributes = dict(meta.attrs)
    for key, wanted in {"schema_major": 2, "exit_code": 0, "stage": 1, "seed": 42, "nodes": 4130071}.items():
        expect(key, int(attributes[key]), wanted)
    for key, wanted in {"format": "espalier run", "problem_kind": "uts", "stop_reason": "complete"}.items():
        expect(key, text(attributes[key]), wanted)
    expect("config", text(meta["config"][()]), "problem:\n  kind: uts  # é\n")
    expect("stages", int(meta["problem"].attrs["stages"]), 2)

    executions = pandas.DataFrame(meta["executions"][:])
    expect("ranks", list(executions["ranks"]), [2, 2])
    expect("cpu_seconds", list(executions["cpu_seconds"]), [200.5, 200.5])
    expect("verify_cpu_s", list(executions["verify_cpu_s"]), [3.0, 3.0])
    expect("command line", text(executions["command_line"][0]), "espalier run uts.yaml")
    hosts = pandas.DataFrame(meta["hosts"][:])
    expect("hosts", [text(host) for host in hosts["host"]], ["node1", "node2", "other1", "other2"])
    expect("execution of a host", list(hosts["execution"]), [0, 0, 1, 1])


def check_results(run):
    results = run["results"]
    expect("enum", h5py.check_enum_dtype(results.dtype["verification"]), VERIFICATION)
    expect("names", text(results.attrs["names"]), "verification=counted,random,proved,partial")
    table = pandas.DataFrame(results[:]).set_index("id")
    expect("keys", list(table["key"]), [11, 12])
    expect("costs", list(table["cost"]), [2.5, 1.5])
    expect("found", list(table["found_s"]), [0.25, 1.25])
    expect("verification", list(table["verification"]), [2, 1])
    ends, text_bytes = run["programs/text_offsets"][:], run["programs/text"][:].tobytes()
    expect("texts", [text_bytes[a:b].decode() for a, b in zip(ends, ends[1:])], ["y = a*b\n", ""])
    offsets = run["programs/offsets"][:]
    expect("payload", bytes(run["programs/payload"][offsets[0]:offsets[1]]), b"payload")


def check_counts(run):
    funnel = pandas.DataFrame(run["funnel"][:])
    expect("funnel", {text(r): int(c) for r, c in zip(funnel["reason"], funnel["count"])}, {"too large": 7, "duplicate": 0})
    counters = pandas.DataFrame(run["counters"][:])
    expect("counters", list(counters["value"]), [3305118, 10])
    progress = pandas.DataFrame(run["progress"][:])
    expect("elapsed", list(progress["elapsed_s"]), [0.5, 1.5])
    expect("best", math.isinf(progress["best"][1]), True)
    expect("units", "elapsed_s=s" in text(run["progress"].attrs["units"]), True)


def check_trace(shard):
    expect("rank", int(shard.attrs["rank"]), 3)
    expect("host", text(shard.attrs["host"]), "node1")
    expect("clock offset", int(shard.attrs["clock_offset_ns"]), -5)
    expect("kinds", h5py.check_enum_dtype(shard["events"].dtype["kind"]), {name: i for i, name in enumerate(KINDS)})
    events = pandas.DataFrame(shard["events"][:])
    expect("events", len(events), 5000)
    expect("nodes", int(events["nodes"].sum()), sum(10 + i for i in range(5000)))
    expect("last start", int(events["start_ns"].iloc[-1]), 4999000)


def check_read_hdf(folder):
    """pandas' own reader wants PyTables."""
    try:
        import tables  # noqa: F401
    except ImportError:
        print("read_run.py: PyTables is not installed; pandas.read_hdf is not checked")
        return
    results = pandas.read_hdf(folder / "run.h5", "results")
    expect("read_hdf costs", list(results["cost"]), [2.5, 1.5])
    progress = pandas.read_hdf(folder / "run.h5", "progress")
    expect("read_hdf nodes", list(progress["nodes"]), [100, 300])
    events = pandas.read_hdf(folder / "trace/segment-001/rank-000003.h5", "events")
    expect("read_hdf events", int(events["duration_ns"].sum()), 5000 * 900)


def main():
    folder = Path(sys.argv[1])
    with h5py.File(folder / "run.h5", "r") as run:
        check_meta(run["meta"])
        check_results(run)
        check_counts(run)
    with h5py.File(folder / "trace/segment-001/rank-000003.h5", "r") as shard:
        check_trace(shard)
    with h5py.File(folder / "checkpoint.h5", "r") as checkpoint:
        expect("open nodes", list(checkpoint["open/lengths"][:]), [8, 0])
    check_read_hdf(folder)
    print("read_run.py: all values are as written")


if __name__ == "__main__":
    main()
