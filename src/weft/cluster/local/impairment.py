"""The faults of the cables of a running virtual cluster: rates, delays, lost frames.

A rate is a queue of `tc`, a loss a rule of `nft`, a delay a process (delay_line.py): many kernels
of containers and small machines have no netem.
"""

import os
import select
import subprocess
import sys
from pathlib import Path

from weft.cluster.local.layout import BRIDGE, MARKER, VirtualHost
from weft.cluster.local.namespace_commands import ENVIRONMENT, LIMIT_S, NamespaceError, run
from weft.core.files import output_file
from weft.core.process import spawn

MOST_SEGMENTS = 65535
"""The kernel's own limit: a frame is cut into packets only where the cable needs it."""
BURST = "128kb"
"""Passes at once. A message below it passes a ping-pong at twice the rate, because each direction
rests for half of the time; a smaller one costs bandwidth, because timers are late."""
PARTS = 1_000_000
"""A loss is so many frames of a million."""

Words = tuple[str, ...]


def impair(folder: Path, root: int, process: int, old: VirtualHost, new: VirtualHost) -> None:
    """Make the cable of a running host as it is wanted. `root` is the cluster's first process,
    `process` the host's own; `old` is the host as it is, or with faults besides that it may have.
    Raises NamespaceError."""
    within, own = _within(root), _within(process)
    _clear(within, own, old)
    _limit(own, "eth0", new.sending.rate)
    _limit(within, new.port, new.receiving.rate)
    if _delays(new):
        _add_delay(folder, root, new)
    if is_lossy(new):
        _lose(own, "eth0", new.receiving.loss)
        _lose(within, _edge(new), new.sending.loss)


def is_lossy(host: VirtualHost) -> bool:
    """Whether the cable of a host loses frames."""
    return bool(host.sending.loss or host.receiving.loss)


def _delays(host: VirtualHost) -> bool:
    return bool(host.sending.delay_us or host.receiving.delay_us)


def _edge(host: VirtualHost) -> str:
    """The device by which the frames of a host enter the bridge."""
    return _join(host) if _delays(host) else host.port


def _join(host: VirtualHost) -> str:
    return host.port.replace("port", "join")


def _within(process: int) -> Words:
    """Words that run a command in the network of a process of the cluster."""
    user = () if os.geteuid() == 0 else ("--user", "--preserve-credentials")
    return ("nsenter", "--target", str(process), *user, "--net")


def _clear(within: Words, own: Words, host: VirtualHost) -> None:
    """Make a cable sound again. It may have some of its faults only."""
    for words, device, rate in (
        (own, "eth0", host.sending.rate),
        (within, host.port, host.receiving.rate),
    ):
        if rate is not None:
            # There must be a queue to delete.
            run(*words, "tc", "qdisc", "replace", "dev", device, "root", "pfifo")
            run(*words, "tc", "qdisc", "del", "dev", device, "root")
    if is_lossy(host):
        for words, device in ((own, "eth0"), (within, host.port), (within, _join(host))):
            table = f"table netdev weft_{device}"
            run(*words, "nft", f"add {table}; delete {table}")
        for words, device in ((own, "eth0"), (within, host.port)):
            run(*words, "ip", "link", "set", device, "gso_max_segs", str(MOST_SEGMENTS))
    if _delays(host):
        if _has_device(within, _join(host)):
            # Its process ends with the device.
            run(*within, "ip", "link", "delete", _join(host))
        run(*within, "ip", "link", "set", host.port, "master", BRIDGE)


def _has_device(within: Words, device: str) -> bool:
    try:
        run(*within, "ip", "link", "show", device)
    except NamespaceError:
        return False
    return True


def _limit(within: Words, device: str, rate: str | None) -> None:
    """Limit what leaves a device, to '200mbit', or to '200mbit/2kb' with so much at once."""
    if rate is not None:
        word, _, burst = rate.partition("/")
        limit = ("tbf", "rate", word, "burst", burst or BURST, "latency", "20ms")
        run(*within, "tc", "qdisc", "replace", "dev", device, "root", *limit)


def _lose(within: Words, device: str, share: float) -> None:
    """Drop a share of the frames that arrive at a device, each by a draw of its own; what leaves it
    is cut into packets, so that the other end draws for each, too."""
    run(*within, "ip", "link", "set", device, "gso_max_segs", "1")
    table = f"netdev weft_{device}"
    rules = [
        f"add table {table}",
        f"add chain {table} lose {{ type filter hook ingress device {device} priority 0; }}",
        f"add rule {table} lose numgen random mod {PARTS} < {round(share * PARTS)} drop",
    ]
    run(*within, "nft", "; ".join(rules if share else rules[:1]))


def _add_delay(folder: Path, root: int, host: VirtualHost) -> None:
    """Take a cable out of the bridge and join both by a process that delays frames."""
    within, near, join = _within(root), host.port.replace("port", "near"), _join(host)
    run(*within, "ip", "link", "set", host.port, "nomaster")
    run(*within, "ip", "link", "add", near, "type", "veth", "peer", "name", join)
    run(*within, "ip", "link", "set", near, "up")
    run(*within, "ip", "link", "set", join, "master", BRIDGE, "up")
    delays = (str(host.sending.delay_us), str(host.receiving.delay_us))
    with output_file(folder / f"{host.name}.delay_line.log") as log:
        process = spawn(
            [
                *(*within, "--pid", sys.executable, "-m", "weft.cluster.local.delay_line"),
                *(host.port, near, *delays),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            env={**ENVIRONMENT, MARKER: str(folder)},
            cwd="/",
        )
    assert process.stdout is not None
    with process.stdout as out:
        ready, _, _ = select.select([out], [], [], LIMIT_S)
        if not ready or not out.readline():
            raise NamespaceError(f"{host.name}: no process delays its frames (its log says more)")
