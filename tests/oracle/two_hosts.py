"""Two hosts, each a network namespace and a name of its own, joined by one virtual cable.

A holder process keeps the namespaces of a host. It ends when its standard input does, so with this
process, however that ends; the kernel then takes cable and namespaces away. `agent` stands in for
ssh: a launcher that runs on the first host starts its ranks through it.
"""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.needs import need

ENVIRONMENT = {**os.environ, "PATH": os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"}
ADDRESSES = ("10.78.0.1", "10.78.0.2")
NAMES = ("left", "right")
LIMIT_S = 20.0
BURST_BYTES = 64_000
BURST_S = 200e-6
"""The bucket, in bytes at least and in time: a larger one lets messages pass faster than the rate,
with a smaller one a busy machine wakes the cable too late."""
IS_UP = """\
for i in $(seq 100); do grep -q up /sys/class/net/eth0/operstate && exit; sleep 0.1; done
exit 1"""
AGENT = """\
#!/bin/sh
pid=$(cat "{folder}/$1") || exit 1
shift
exec nsenter --target "$pid" --net --uts --mount sh -c "$*"
"""


def why_not() -> str | None:
    """Why this machine bears no such hosts; None where it does. Skips where a tool is missing."""
    need("ip", "tc", "nsenter", "unshare", package="iproute2 util-linux", path=ENVIRONMENT["PATH"])
    if os.geteuid() != 0:
        return "needs root: network namespaces"
    script = "ip link add end0 type veth peer name end1 && tc qdisc add dev end0 root tbf"
    probe = (
        "unshare",
        "--net",
        "--uts",
        "--mount",
        "sh",
        "-c",
        f"{script} rate 1gbit burst 16kb latency 1ms && mount -t sysfs sysfs /sys",
    )
    done = subprocess.run(
        probe, check=False, capture_output=True, text=True, env=ENVIRONMENT, timeout=LIMIT_S
    )
    return f"no shaped veth here: {done.stderr.strip()}" if done.returncode else None


@contextmanager
def two_hosts(folder: Path) -> Iterator["TwoHosts"]:
    """Two hosts that end with the block."""
    with ExitStack() as held:
        yield TwoHosts(folder, held)


class TwoHosts:
    """Two hosts that are joined by a cable without a limit."""

    def __init__(self, folder: Path, held: ExitStack) -> None:
        self._pids = [_holder(held, name) for name in NAMES]
        self.agent = folder / "agent"
        self.agent.write_text(AGENT.format(folder=folder))
        self.agent.chmod(0o755)
        far_end = ("peer", "name", "eth0", "netns", str(self._pids[1]))
        self.run(0, "ip", "link", "add", "eth0", "type", "veth", *far_end)
        for host, address in enumerate(ADDRESSES):
            (folder / address).write_text(str(self._pids[host]))
            self.run(host, "ip", "address", "add", f"{address}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                self.run(host, "ip", "link", "set", device, "up")
        for host in range(2):
            # UCX takes no device whose carrier is not seen yet.
            self.run(host, "sh", "-c", IS_UP)

    def limit(self, gbps: int) -> None:
        """Limit the cable, in both directions."""
        burst = max(BURST_BYTES, round(gbps * 1e9 / 8 * BURST_S))
        words = ("root", "tbf", "rate", f"{gbps}gbit", "burst", str(burst), "latency", "200ms")
        for host in range(2):
            self.run(host, "tc", "qdisc", "replace", "dev", "eth0", *words)

    def on_left(self, argv: Sequence[str]) -> list[str]:
        """The command line that runs a command on the first host."""
        return self._entered(0, argv)

    def run(self, host: int, *argv: str) -> None:
        """Run a command on a host. Raises CalledProcessError with what it said."""
        subprocess.run(
            self._entered(host, argv),
            check=True, capture_output=True, text=True, timeout=LIMIT_S, env=ENVIRONMENT,
        )  # fmt: skip

    def _entered(self, host: int, argv: Sequence[str]) -> list[str]:
        target = str(self._pids[host])
        return ["nsenter", "--target", target, "--net", "--uts", "--mount", "--wd=.", *argv]


def _holder(held: ExitStack, name: str) -> int:
    """A process in namespaces of its own that waits until its standard input ends; its id."""
    # UCX looks for its devices in /sys, which shows the namespace that mounted it.
    script = f"hostname {name} && mount -t sysfs sysfs /sys && echo ready && exec cat"
    process = held.enter_context(
        subprocess.Popen(
            ["unshare", "--net", "--uts", "--mount", "sh", "-c", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env=ENVIRONMENT,
            start_new_session=True,
        )
    )
    assert process.stdout is not None
    if process.stdout.readline() != b"ready\n":
        raise OSError("'unshare --net --uts' does not run")
    return process.pid
