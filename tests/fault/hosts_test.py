#!/usr/bin/python3
"""Three hosts with networks of their own (network namespaces joined by a bridge): a search over them, one of them cut off for longer
than a lease, coming back or not, and the loss of a group's master. All messages go over TCP between the hosts.

Needs root and iproute2 (run/setup --slow); skipped where namespaces cannot be made."""

import os
import signal
import shutil
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

import harness
from harness import DONE, ESPALIER, GRANULARITY, MPIEXEC, Case, Job

HOSTS = 3
NETWORK = "10.77.0"
LEASE_S = 2 * harness.SLOWNESS


def ip(*arguments) -> None:
    done = subprocess.run(["ip", *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise OSError(f"ip {' '.join(map(str, arguments))}: {done.stderr.strip()}")


class Network:
    """Three hosts at a switch, each in a namespace of its own; the switch is one too."""

    def __init__(self):
        self.name = f"espalier-{os.getpid()}"
        self._made: list[str] = []

    def host(self, number: int) -> str:
        return f"{self.name}-host{number}"

    @property
    def switch(self) -> str:
        return f"{self.name}-switch"

    def _add(self, namespace: str) -> None:
        ip("netns", "add", namespace)
        self._made.append(namespace)

    def make(self) -> None:
        self._add(self.switch)
        ip("-n", self.switch, "link", "add", "bridge", "type", "bridge")
        ip("-n", self.switch, "link", "set", "bridge", "up")
        for number in range(HOSTS):
            host = self.host(number)
            self._add(host)
            ip("-n", self.switch, "link", "add", f"port{number}", "type", "veth", "peer", "name", "eth0", "netns", host)
            ip("-n", self.switch, "link", "set", f"port{number}", "master", "bridge", "up")
            ip("-n", host, "addr", "add", f"{NETWORK}.{number + 1}/24", "dev", "eth0")
            ip("-n", host, "link", "set", "eth0", "up")
            ip("-n", host, "link", "set", "lo", "up")

    def remove(self) -> None:
        for namespace in self._made:
            subprocess.run(["ip", "netns", "del", namespace], capture_output=True)

    def cut(self, number: int) -> None:
        ip("-n", self.switch, "link", "set", f"port{number}", "down")

    def join(self, number: int) -> None:
        ip("-n", self.switch, "link", "set", f"port{number}", "up")

    def bytes_from(self, number: int) -> int:
        """What the host has sent to the others."""
        command = ["ip", "netns", "exec", self.host(number), "cat", "/sys/class/net/eth0/statistics/tx_bytes"]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


class Hosts(Case):
    def setUp(self):
        super().setUp()
        self.network = Network()
        self.addCleanup(self.network.remove)
        try:
            if shutil.which("ip") is None:
                raise OSError("there is no `ip` (Debian: iproute2)")
            self.network.make()
        except OSError as reason:
            self.skipTest(f"network namespaces cannot be made here: {reason}")
        # What mpiexec calls in place of ssh: options, address, command. Names of hosts are their own too.
        self.remote = self.file("remote", f"""#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
host=host$((${{1##*.}} - 1)); shift
exec ip netns exec {self.network.name}-$host unshare --uts sh -c "hostname $host; exec $*"
""")
        self.remote.chmod(0o755)

    def search_on_hosts(self, experiment: Path, *arguments, ranks: int = HOSTS) -> Job:
        """From the first host; rank i is on host i modulo their number."""
        addresses = ",".join(f"{NETWORK}.{number + 1}" for number in range(HOSTS))
        return self.start("ip", "netns", "exec", self.network.host(0), MPIEXEC, "-launcher", "ssh", "-launcher-exec", self.remote,
                          "-disable-auto-cleanup", "-hosts", addresses, "-n", ranks, ESPALIER, "search", experiment, "--json", "--threads", 1,
                          "--set", f"cluster.lease={LEASE_S}s", "--set", "cluster.commit=200ms", "--set", "cluster.checkpoint=500ms",
                          "--set", "cluster.start=1min", *arguments, env={"UCX_TLS": "tcp,self"})

    def expect_exact_at_last(self, experiment: Path, job: Job) -> None:
        """Exact, or ended with a message and exact after the same command."""
        job.wait()
        job.until_ranks_have_ended()
        if self.status()[1] != "complete":
            self.assertRegex(job.stderr, "the master has been silent|error", job.describe())
            again = self.search_on_hosts(experiment)
            self.assertEqual(again.wait(), DONE, again.describe())
        self.expect_complete("T1")

    def cut_off(self, *arguments, ranks: int, back_after_s: float | None) -> Job:
        experiment = self.experiment("T1", granularity=2 * GRANULARITY)
        job = self.search_on_hosts(experiment, *arguments, ranks=ranks)
        job.until_searching()
        self.network.cut(2)
        job.until_says("has been silent for")
        if back_after_s is not None:
            time.sleep(back_after_s)
            self.network.join(2)
        self.expect_exact_at_last(experiment, job)
        return job

    def test_a_search_over_three_hosts_is_exact_and_goes_over_the_network(self):
        job = self.search_on_hosts(self.experiment("T3", granularity=GRANULARITY // 2), ranks=HOSTS)
        self.assertEqual(job.wait(), DONE, job.describe())

        self.expect_complete("T3", job)
        for number in range(HOSTS):
            self.assertGreater(self.network.bytes_from(number), 10_000)

    def test_a_host_that_is_cut_off_for_longer_than_its_lease_comes_back(self):
        job = self.cut_off(ranks=HOSTS, back_after_s=LEASE_S)

        self.assertIn("given up as lost", job.stderr)

    def test_a_host_that_stays_cut_off_is_done_without(self):
        self.cut_off(ranks=HOSTS, back_after_s=None)

    def test_a_host_with_a_groups_master_comes_back(self):
        self.cut_off("--set", "cluster.group=2", ranks=2 * HOSTS, back_after_s=LEASE_S)

    def test_a_host_with_a_groups_master_stays_cut_off(self):
        self.cut_off("--set", "cluster.group=2", ranks=2 * HOSTS, back_after_s=None)

    def test_a_groups_master_is_killed(self):
        experiment = self.experiment("T1", granularity=2 * GRANULARITY)
        job = self.search_on_hosts(experiment, "--set", "cluster.group=2", ranks=2 * HOSTS)
        job.until_searching()
        harness.kill(job.ranks()[2])

        self.expect_exact_at_last(experiment, job)

    def test_the_host_of_rank_0_is_cut_off(self):
        """The others end by themselves; rank 0 continues alone, and mpiexec with it."""
        experiment = self.experiment("T1", granularity=GRANULARITY)
        job = self.search_on_hosts(experiment)
        job.until_searching()
        self.network.cut(0)

        self.expect_exact_at_last(experiment, job)


if __name__ == "__main__":
    harness.main()
