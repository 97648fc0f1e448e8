#!/usr/bin/python3
"""Is the measured best program of collectives among the ten that were predicted to be best?

Two levels are emulated on one machine: "nodes" are network namespaces, joined by links of limited rate (and latency, where the
kernel has netem; tbf limits the rate alone). Latency and bandwidth are calibrated there, a search with them predicts the times of
all programs, all are executed there, and for every size the quickest of the measured ones is looked up among the predicted ten.
Needs root, iproute2 and a compiler; touches only namespaces of its own, which are deleted in the end.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import common

YIELD = common.HERE.parent / "tests/cluster/collectives/mpi/yield.cpp"
TIMEOUT_S = 900


class NotPossible(Exception):
    """This machine does not allow it."""


def ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise NotPossible(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


class Nodes:
    """Namespaces that are joined by a bridge in one more namespace, where mpiexec runs."""

    def __init__(self, count: int, rate: str, delay: str):
        self.count, self.rate, self.delay = count, rate, delay
        self.prefix = f"esp{os.getpid()}"
        self.switch = f"{self.prefix}s"
        self.made: list[str] = []
        self.shaping = ""

    def __enter__(self) -> "Nodes":
        if os.geteuid() != 0 or not all(shutil.which(tool) for tool in ("ip", "tc", "unshare")):
            raise NotPossible("needs root, and ip, tc and unshare")
        try:
            self._namespace(self.switch)
            ip("-n", self.switch, "link", "add", "br0", "type", "bridge")
            ip("-n", self.switch, "addr", "add", "10.77.0.254/24", "dev", "br0")
            ip("-n", self.switch, "link", "set", "br0", "up")
            for node in range(self.count):
                self._node(node)
        except NotPossible:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        for name in self.made:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)

    def address(self, node: int) -> str:
        return f"10.77.0.{node + 1}"

    def name(self, node: int) -> str:
        return f"{self.prefix}n{node}"

    def _namespace(self, name: str) -> None:
        ip("netns", "add", name)
        self.made.append(name)
        ip("-n", name, "link", "set", "lo", "up")

    def _node(self, node: int) -> None:
        name, port = self.name(node), f"port{node}"
        self._namespace(name)
        ip("-n", name, "link", "add", "eth0", "type", "veth", "peer", "name", port, "netns", self.switch)
        ip("-n", self.switch, "link", "set", port, "master", "br0")
        ip("-n", self.switch, "link", "set", port, "up")
        ip("-n", name, "addr", "add", f"{self.address(node)}/24", "dev", "eth0")
        ip("-n", name, "link", "set", "eth0", "up")
        self._shape(name)

    def _shape(self, name: str) -> None:
        """What leaves a node is limited; what enters it has left another."""
        kinds = {f"rate {self.rate}, delay {self.delay}": ["netem", "rate", self.rate, "delay", self.delay, "limit", "100000"],
                 f"rate {self.rate}": ["tbf", "rate", self.rate, "burst", "128kb", "latency", "400ms"]}
        for told, kind in kinds.items():
            if subprocess.run(["tc", "-n", name, "qdisc", "replace", "dev", "eth0", "root", *kind], capture_output=True).returncode == 0:
                self.shaping = told
                return
        raise NotPossible("the kernel has neither netem nor tbf")


class Cluster:
    """Runs commands on the nodes by MPICH's mpiexec, so many ranks on each."""

    def __init__(self, nodes: Nodes, folder: Path):
        self.nodes = nodes
        self.launcher = folder / "launcher.sh"
        cases = "\n".join(f'{nodes.address(node)}) name={nodes.name(node)};;' for node in range(nodes.count))
        # called as `ssh -x HOST COMMAND ...`; a node has a host name of its own
        self.launcher.write_text(f"""#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
case "$1" in
{cases}
esac
shift
exec ip netns exec "$name" unshare --uts sh -c "hostname $name; exec $*"
""")
        self.launcher.chmod(0o755)
        self.preload = folder / "yield.so"
        subprocess.run(["g++", "-O2", "-shared", "-fPIC", YIELD, "-o", self.preload, "-ldl"], check=True)
        self.mpiexec = shutil.which("mpiexec.mpich") or shutil.which("mpiexec")
        if self.mpiexec is None:
            raise NotPossible("there is no mpiexec")

    def run(self, ranks: int, *command) -> str:
        hosts = ",".join(f"{self.nodes.address(node)}:{ranks}" for node in range(self.nodes.count))
        variables = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0", "LD_PRELOAD": str(self.preload)}
        settings = [part for key, value in variables.items() for part in ("-genv", key, value)]
        # -launcher-exec is an ssh of our own; -localhost: where ranks find mpiexec
        process = subprocess.Popen(["ip", "netns", "exec", self.nodes.switch, self.mpiexec, "-launcher", "ssh", "-launcher-exec", str(self.launcher),
                                    "-localhost", "10.77.0.254", "-hosts", hosts, *settings, "-n", str(ranks * self.nodes.count),
                                    *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            out, err = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.terminate()
            out, err = process.communicate()
        if process.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))}: code {process.returncode}\n{out}{err}")
        return out


def experiment(hierarchy: str, devices: int, payload: str, run: Path) -> str:
    levels = hierarchy[hierarchy.index("hierarchy:"):].rstrip().replace("\n", "\n  ")
    return (f"problem:\n  kind: placement\n  {levels}\n  axes: {{data: {devices}}}\n"
            f"  reductions: [{{axes: [data], payload: {payload}}}]\n  segments: [1]\nresults: {{path: {run}}}\n")


def judge(size: dict) -> dict:
    """Of all programs at one size: the measured best against the ten that were predicted to be best. The best is chosen on one set of
    runs; how long it takes, and which others are within its noise, is of fresh ones."""
    programs = {one["id"]: one for one in size["programs"] if one["right"]}
    predicted = sorted(programs, key=lambda number: (programs[number]["predicted_us"], number))
    best, ten = programs[size["chosen"]["id"]], predicted[:10]
    nearest = min(programs[number]["choice"]["median_us"] for number in ten)
    return {"bytes": size["bytes"], "programs": len(programs), "best": best["name"], "best_us": best["report"]["median_us"],
            "place": predicted.index(best["id"]) + 1, "in_ten": best["id"] in ten,
            "in_ten_or_noise": any(number in ten for number in [best["id"], *size["chosen"]["ties"]]),
            "lost": nearest / best["choice"]["median_us"], "mpi_us": size["mpi"][0]["report"]["median_us"]}


def measure(cluster: Cluster, espalier: Path, folder: Path, ranks: int, arguments) -> list[dict]:
    hardware = folder / f"hardware{ranks}.yaml"
    cluster.run(ranks, espalier, "collectives", "--calibrate", "-o", hardware, "--size", "1KiB..1MiB", "--repeats", "20")
    hierarchy = hardware.read_text()
    print("\n".join(line for line in hierarchy.split("\n") if "name:" in line), file=sys.stderr)
    run, file = folder / f"run{ranks}", folder / f"experiment{ranks}.yaml"
    file.write_text(experiment(hierarchy, ranks * cluster.nodes.count, arguments.size.split("..")[0], run))
    subprocess.run([espalier, "search", file, "--threads", "1", "--quiet"], check=True, stdout=subprocess.DEVNULL)
    report = json.loads(cluster.run(ranks, espalier, "collectives", run, "--top", arguments.top, "--size", arguments.size,
                                    "--repeats", arguments.repeats, "--json"))
    if report["wrong"] > 0:
        sys.exit(f"{report['wrong']} programs gave wrong sums")
    return [{"ranks": ranks, **judge(size)} for size in report["tasks"][0]["sizes"]]


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--ranks", default="2,4", help="ranks a node, with commas between")
    parser.add_argument("--size", default="64KiB..1MiB")
    parser.add_argument("--repeats", default="10")
    parser.add_argument("--top", default="0", help="so many programs; 0: all")
    parser.add_argument("--rate", default="400mbit", help="of a node's link")
    parser.add_argument("--delay", default="200us", help="of a node's link, where there is netem")
    arguments = parser.parse_args()
    espalier = common.program(arguments.bin, "espalier").resolve()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))       # not without deleting the namespaces
    cases = []
    try:
        with tempfile.TemporaryDirectory(prefix="espalier-perf-") as folder, Nodes(arguments.nodes, arguments.rate, arguments.delay) as nodes:
            cluster = Cluster(nodes, Path(folder))
            for ranks in map(int, arguments.ranks.split(",")):
                cases += measure(cluster, espalier, Path(folder), ranks, arguments)
            shaping = nodes.shaping
    except NotPossible as why:
        sys.exit(f"collectives: skipped: {why}")
    hits, near = sum(case["in_ten"] for case in cases), sum(case["in_ten_or_noise"] for case in cases)
    if arguments.json:
        print(json.dumps({"shaping": shaping, "nodes": arguments.nodes, "cases": cases, "in_ten": hits, "in_ten_or_noise": near}, indent=2))
        return
    print(f"{arguments.nodes} nodes, {shaping}; load average {os.getloadavg()[0]:.1f}")
    for case in cases:
        print(f"{case['ranks']} ranks a node, {case['bytes'] >> 10:>6} KiB: best of {case['programs']} is predicted to be {case['place']}."
              f" ({'in' if case['in_ten'] else 'not in'} the ten; best of the ten takes {case['lost']:.2f}x);"
              f" {case['best_us']:.0f} us, MPI_Allreduce {case['mpi_us']:.0f} us: {case['best']}")
    print(f"the measured best is among the predicted ten in {hits} of {len(cases)} cases; it is, or one of the ten is within its noise, in {near}")


if __name__ == "__main__":
    main()
