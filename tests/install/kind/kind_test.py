#!/usr/bin/python3
"""usage: kind_test.py PROGRAM FOLDER: a kind from outside goes through search, show, verify, report, check and schema.

The answers are those of a brute force over all subsets, by Python."""

import itertools
import json
import subprocess
import sys
from pathlib import Path

PROGRAM, FOLDER = sys.argv[1], Path(sys.argv[2])
NUMBERS, TARGET = [3, 34, 4, 12, 5, 2, 7, 9, 21, 16, 8, 11], 40
EXPERIMENT = f"problem: {{kind: subset_sum, numbers: {NUMBERS}, target: {TARGET}}}\nresults: {{path: run}}\n"


def run(*arguments: str, code: int = 0) -> str:
    done = subprocess.run([PROGRAM, *arguments], cwd=FOLDER, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    expect(f"exit code of {arguments}", done.returncode, code, done.stdout + done.stderr)
    return done.stdout + done.stderr


def expect(what: str, found, wanted, more: str = "") -> None:
    if found != wanted:
        sys.exit(f"kind_test: {what}: {found!r}, not {wanted!r}\n{more}")


def expect_in(what: str, part: str, text: str) -> None:
    if part not in text:
        sys.exit(f"kind_test: {what}: no {part!r} in\n{text}")


def brute_force() -> list[list[int]]:
    subsets = (chosen for size in range(len(NUMBERS) + 1) for chosen in itertools.combinations(NUMBERS, size))
    return sorted(list(chosen) for chosen in subsets if sum(chosen) == TARGET)


(FOLDER / "subsets.yaml").write_text(EXPERIMENT)
(FOLDER / "unread.yaml").write_text(EXPERIMENT + "verify: {tests: 9}\n")
(FOLDER / "other.yaml").write_text("problem: {kind: uts, tree: T1}\nresults: {path: other}\n")
(FOLDER / "many.yaml").write_text(EXPERIMENT.replace(str(NUMBERS), str([1] * 61)))

wanted = brute_force()
summary = json.loads(run("search", "subsets.yaml", "--json", "-q", "--threads", "2"))
expect("subsets found", summary["results"], len(wanted))
expect("result_count", summary["result_count"], len(wanted))
expect("the kind's own numbers", summary["subset_sum"], {"target": TARGET, "subsets": len(wanted)})

shown = json.loads(run("show", "run", "--json"))
expect("subsets", sorted(sorted(map(int, one["text"].split()), key=NUMBERS.index) for one in shown["results"]), wanted)
expect("order by size", [one["size"] for one in shown["results"]], sorted(one["size"] for one in shown["results"]))
expect("what is known", {tuple(one[key] for key in ("verified", "executed", "cost_source", "optimality")) for one in shown["results"]},
       {("proved", "no", "estimated", "none")})
expect_in("show", "- too large", run("show", "run"))
expect("one by its rank", run("show", "run", "--program", "1"), run("show", "run", "--program", shown["results"][0]["key"]))
run("show", "run", "--program", "1", "--format", "svg", code=2)       # no kind here has it
expect_in("verify", f"{len(wanted)} of {len(wanted)} programs are right", run("verify", "run"))
page = (FOLDER / run("report", "run", "-o", "page.html").strip()).read_text()
expect_in("report", "size numbers", page)
expect_in("report", "Costs are counted.", page)

expect("kinds of the schema", [kind["properties"]["kind"]["const"] for kind in json.loads(run("schema"))["properties"]["problem"]["oneOf"]],
       ["subset_sum"])
expect_in("check", "ok (subset_sum)", run("check", "subsets.yaml"))
expect_in("a key that it never reads", "unread.yaml:3:10: error", run("check", "unread.yaml", code=3))
expect_in("what it refuses itself, with the place", "many.yaml:1:38: error", run("check", "many.yaml", code=3))
expect_in("a kind that is not in the list", "subset_sum", run("check", "other.yaml", code=3))
expect_in("help", "espalier search subsets.yaml", run("search", "--help"))
expect_in("completion, by the program's own name", "complete -F _subset_sum subset_sum", run("completion", "bash"))
expect_in("its own formats in the completion", "'show --format') options='' words='' kind=''; words='text'", run("completion", "bash"))
expect_in("manual page", ".TH SUBSET_SUM 1", run("man"))
