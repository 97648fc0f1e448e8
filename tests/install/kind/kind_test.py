#!/usr/bin/python3
"""usage: kind_test.py PROGRAM FOLDER: a kind from outside goes through every command.

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


def expect_known(name: str, words: dict[str, str]) -> None:
    """All that are told of a run use these words: `show`, `verify`, both with --json, and the page."""
    (FOLDER / "known.yaml").write_text(EXPERIMENT.replace(f"target: {TARGET}", f"target: {TARGET}, claims: {json.dumps(words)}"))
    run("search", "known.yaml", "-q", "--results", name)
    for listed in (json.loads(run("show", name, "--json"))["results"], json.loads(run("verify", name, "--json"))["checks"]):
        expect(f"what is known, {words}", [{key: one[key] for key in words} for one in listed], len(listed) * [words])
    nothing = {"executed": "no", "optimality": "none"}
    titles = {"verified": "verified", "executed": "executed", "cost_source": "cost", "optimality": "optimality"}
    told = "; ".join(f"{titles[key]}: {word}" for key, word in words.items() if nothing.get(key) != word)
    run("report", name, "-o", f"{name}.html")
    page = (FOLDER / f"{name}.html").read_text()
    for where, text in (("show", run("show", name)), ("verify", run("verify", name)), ("report", page)):
        expect_in(where, told, text)
    for word in words.values():
        expect_in("the page's table", f"<td>{word}</td>", page)
    noise = json.loads(run("show", name, "--json"))["cost"].get("noise")
    expect("noise", noise, 0.02 if words["cost_source"] == "measured" else None)
    expect("noise on the page", "measured, ± 2 %" in page, words["cost_source"] == "measured")


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

expect("the whole run", run("show", "run", "--format", "csv"),
       "size,subset\n" + "".join(f"{one['size']:g},{one['text']}\n" for one in shown["results"]))
expect("a view", run("show", "run", "--size", "3"), "".join(f"{one['text']}\n" for one in shown["results"] if one["size"] == 3))
expect_in("a view of nothing", "no subset has 12 numbers", run("show", "run", "--size", "12", code=3))
run("emit", "run", "--program", shown["results"][1]["key"], "-o", "second")
expect("what was emitted", (FOLDER / "second/numbers").read_text(), shown["results"][1]["text"] + "\n")
expect("its own check", subprocess.check_output([sys.executable, "check.py"], cwd=FOLDER / "second", text=True), "True\n")
expect_in("emit over a user's files", "second: exists and is not an empty folder", run("emit", "run", "-o", "second", code=3))
measured = json.loads(run("measure", "run", "--top", "2", "--json"))["measured"]
expect("what was measured", [(one["key"], one["cost"], one["executed"]) for one in measured],
       [(one["key"], one["size"], "within tolerance") for one in shown["results"][:2]])
expect_in("measure", "numbers +- 2 %  executed: within tolerance", run("measure", "run"))
for words in (("counted", "no", "estimated", "none"), ("random", "within tolerance", "simulated", "gap"),
              ("proved", "wrong", "measured", "optimal"), ("partial", "no", "estimated", "optimal")):
    expect_known(words[0], dict(zip(("verified", "executed", "cost_source", "optimality"), words)))

expect("kinds of the schema", [kind["properties"]["kind"]["const"] for kind in json.loads(run("schema"))["properties"]["problem"]["oneOf"]],
       ["subset_sum"])
expect_in("check", "ok (subset_sum)", run("check", "subsets.yaml"))
expect_in("a key that it never reads", "unread.yaml:3:10: error", run("check", "unread.yaml", code=3))
expect_in("what it refuses itself, with the place", "many.yaml:1:38: error", run("check", "many.yaml", code=3))
expect_in("a kind that is not in the list", "subset_sum", run("check", "other.yaml", code=3))
expect_in("help", "espalier search subsets.yaml", run("search", "--help"))
expect_in("help", "The subsets of this many numbers (kind: subset_sum)", run("show", "--help"))
expect_in("help", "emit ", run("--help"))
expect_in("completion, by the program's own name", "complete -F _subset_sum subset_sum", run("completion", "bash"))
expect_in("its own formats in the completion", "'show --format') options='' words='' kind=''; words='text", run("completion", "bash"))
expect_in("manual page", ".TH SUBSET_SUM 1", run("man"))
