#!/usr/bin/python3
"""usage: container_test.py PROJECT

Does what run/container/Dockerfile says, without a container engine: every stage is a Debian that debootstrap makes, in a chroot with
namespaces of its own. Then the program of the last stage searches a published tree with two ranks. Takes as long as a build.
Needs root, debootstrap and a Debian mirror (ESPALIER_MIRROR, else the one of this machine); exit 77 without them.
ESPALIER_CONTAINER_JOBS limits the build to so many processes.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(sys.argv[1]).resolve()
RECIPE = "run/container/Dockerfile"
SUITES = {"debian:12-slim": "bookworm"}
SKIPPED = 77
T1_NODES = 4130071      # UTS T1, as published


class Instruction(NamedTuple):
    name: str
    rest: str


def instructions(text: str) -> list[Instruction]:
    text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    return [Instruction(*line.split(None, 1)) for line in text.splitlines() if line.strip()]


def skip(why: str) -> None:
    print(f"container_test: skipped: {why}")
    sys.exit(SKIPPED)


def mirror() -> str:
    if named := os.environ.get("ESPALIER_MIRROR"):
        return named
    sources = [Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")]
    for source in filter(Path.is_file, sources):
        if found := re.search(r"(?m)^(?:deb|URIs:)\s+(?:\[.*\]\s+)?(http\S*/debian)/?\s*", source.read_text()):
            return found[1]
    skip("no mirror of Debian is known: set ESPALIER_MIRROR")


class Stage:
    """A root folder in which the steps of a stage are done."""

    def __init__(self, root: Path):
        self.root, self.folder = root, "/"

    def run(self, command: str) -> str:
        started = time.monotonic()
        inside = (f"mount -t proc proc {self.root}/proc && mount --rbind /dev {self.root}/dev && mount --rbind /sys {self.root}/sys && "
                  f"exec chroot {self.root} /bin/sh -c {shlex.quote(f'cd {self.folder} && {command}')}")
        done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", inside], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.environment())
        print(f"{time.monotonic() - started:7.1f} s  {command}", flush=True)
        if done.returncode != 0:
            sys.exit(f"container_test: exit code {done.returncode}: {command}\n{done.stdout[-4000:]}")
        return done.stdout

    @staticmethod
    def environment() -> dict[str, str]:
        jobs = os.environ.get("ESPALIER_CONTAINER_JOBS")
        return {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp",
                **({"CMAKE_BUILD_PARALLEL_LEVEL": jobs} if jobs else {})}

    def copy(self, source: Path, target: str) -> None:
        to = self.root / str(Path(self.folder) / target).lstrip("/")
        to.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-a", f"{source}/.", str(to)], check=True)


def made(base: str, root: Path, cache: Path) -> Stage:
    """A fresh Debian; the second one is a copy of the first."""
    if not cache.exists():
        # In namespaces of its own: what it mounts is gone with it, whatever happens.
        subprocess.run(["unshare", "--mount", "debootstrap", "--variant=minbase", SUITES[base], str(cache), mirror()], check=True,
                       stdout=subprocess.DEVNULL)
        shutil.copy("/etc/resolv.conf", cache / "etc" / "resolv.conf")
    subprocess.run(["cp", "-a", str(cache), str(root)], check=True)
    return Stage(root)


def context(target: Path) -> Path:
    """What the engine would send: the tracked files."""
    listed = subprocess.run(["git", "-c", "safe.directory=*", "-C", str(PROJECT), "ls-files", "-z"], check=True, capture_output=True).stdout
    subprocess.run(["cpio", "--null", "-pdm", "--quiet", str(target)] if shutil.which("cpio") else
                   ["sh", "-c", 'mkdir -p "$0" && tar --null -T - -cf - | tar -xf - -C "$0"', str(target)],
                   input=listed, check=True, cwd=PROJECT)
    return target


def follow(recipe: list[Instruction], work: Path) -> Stage:
    stages: dict[str, Stage] = {}
    stage = None
    for name, rest in recipe:
        words = rest.split()
        if name == "FROM":
            stage = made(words[0], work / f"stage{len(stages)}", work / "debian")
            stages[words[2] if words[1:2] == ["AS"] else str(len(stages))] = stage
        elif name == "WORKDIR":
            stage.folder = rest
            (stage.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif name == "COPY" and words[0].startswith("--from="):
            stage.copy(stages[words[0].removeprefix("--from=")].root / words[1].lstrip("/"), words[2])
        elif name == "COPY":
            stage.copy(context(work / "context"), words[1])
        elif name == "RUN":
            stage.run(rest)
        elif name != "CMD":
            sys.exit(f"container_test: {name} is not understood")
    return stage


def main() -> None:
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        skip("it needs root and debootstrap")
    if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True).returncode != 0:
        skip("namespaces cannot be made here")
    with tempfile.TemporaryDirectory(prefix="espalier-container-") as work:
        stage = follow(instructions((PROJECT / RECIPE).read_text()), Path(work))
        experiment = stage.root / "data" / "t1.yaml"
        experiment.write_text("problem: {kind: uts, tree: T1}\nresults: {path: run}\n")
        print(stage.run("espalier --version"))
        stage.run("mpiexec -n 2 espalier search t1.yaml -q --json --threads 1 > summary.json")
        summary = json.loads((stage.root / "data" / "summary.json").read_text())
        if summary["nodes"] != T1_NODES:
            sys.exit(f"container_test: {summary['nodes']} nodes, not {T1_NODES}")
        for file in ("bash-completion/completions/espalier", "man/man1/espalier.1"):
            if not (stage.root / "usr/local/share" / file).is_file():
                sys.exit(f"container_test: {file} is not installed")


if __name__ == "__main__":
    main()
