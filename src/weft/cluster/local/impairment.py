"""The faults of the cables of a running virtual cluster: rates, delays, lost frames.

A rate is a queue of `tc`, a loss a rule of `nft`, a delay a process (delay_line.py): many kernels
of containers and small machines have no netem. What a leaf or the spine sends by a limited cable
takes the ports that it came from in turn, as in a switch: one queue would give a port the more, the
more connections it has.
"""

import os
import select
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from string import ascii_lowercase

from weft.cluster.local.layout import MARKER, VirtualHost, leaves_of, uplink_ends
from weft.cluster.local.namespace_commands import ENVIRONMENT, LIMIT_S, NamespaceError, run
from weft.core.files import output_file
from weft.core.process import spawn

MOST_SEGMENTS = 65535
"""The kernel's own limit: a frame is cut into packets only where the cable needs it."""
BURST = "128kb"
"""Passes at once. A message below it passes a ping-pong at twice the rate, because each direction
rests for half of the time; a smaller one costs bandwidth, because timers are late."""
QUEUE_MS = 20
"""What waits for a limited cable, in its own time; more is dropped."""
QUANTUM_BYTES = 1514
"""Of a port in its turn: a frame of Ethernet without its check sum."""
NO_LIMIT = ("rate", "100gbit", "burst", "1mb", "cburst", "1mb")
"""Of the ports behind a cable: it alone limits."""
_BITS = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9}
PARTS = 1_000_000
"""A loss is so many frames of a million."""

Words = tuple[str, ...]


def impair(
    folder: Path,
    root: int,
    process: int,
    old: VirtualHost,
    new: VirtualHost,
    *,
    on_leaf: Sequence[VirtualHost] = (),
) -> None:
    """Make the cable of a running host as it is wanted. `root` is the cluster's first process,
    `process` the host's own; `old` is the host as it is, or with faults besides that it may have;
    `on_leaf` are the other hosts of its leaf. Raises NamespaceError."""
    within, own = _within(root), _within(process)
    _clear(within, own, old)
    _limit(own, "eth0", new.sending.rate)
    _limit(within, new.port, new.receiving.rate)
    if new.leaf and new.receiving.rate is not None:
        # What comes from elsewhere came by one port, that of the uplink.
        _take_turns(within, new.port, new.receiving.rate, [(host,) for host in on_leaf])
    if _delays(new):
        _add_delay(folder, root, new)
    if is_lossy(new):
        _lose(own, "eth0", new.receiving.loss)
        _lose(within, _edge(new), new.sending.loss)


def limit_uplinks(root: int, hosts: Sequence[VirtualHost], rate: str | None) -> None:
    """Limit the cable of each leaf to the spine, in each direction; None takes the limit away.
    `root` is the cluster's first process. Raises NamespaceError."""
    within, leaves = _within(root), leaves_of(hosts)
    for leaf, own in leaves.items():
        up, down = uplink_ends(leaf)
        others = [of for number, of in leaves.items() if number != leaf]
        for device, ports in ((up, [(host,) for host in own]), (down, others)):
            _clear_limit(within, device)
            _limit(within, device, rate)
            if rate is not None:
                _take_turns(within, device, rate, ports)


def queue_bytes(rate: str) -> int:
    """What waits at most for a cable that is limited to '200mbit' or '200mbit/2kb': so much as a
    queue of tbf lets wait."""
    word, _, burst = rate.partition("/")
    number = word.rstrip(ascii_lowercase)
    in_time = int(number) * _BITS[word.removeprefix(number)] * QUEUE_MS // 8000
    return in_time + 1024 * int((burst or BURST).removesuffix("kb"))


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
            _clear_limit(words, device)
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
        run(*within, "ip", "link", "set", host.port, "master", host.bridge)


def _has_device(within: Words, device: str) -> bool:
    try:
        run(*within, "ip", "link", "show", device)
    except NamespaceError:
        return False
    return True


def _clear_limit(within: Words, device: str) -> None:
    # There must be a queue to delete.
    run(*within, "tc", "qdisc", "replace", "dev", device, "root", "pfifo")
    run(*within, "tc", "qdisc", "del", "dev", device, "root")


def _limit(within: Words, device: str, rate: str | None) -> None:
    """Limit what leaves a device, to '200mbit', or to '200mbit/2kb' with so much at once."""
    if rate is not None:
        word, _, burst = rate.partition("/")
        limit = ("tbf", "rate", word, "burst", burst or BURST, "latency", f"{QUEUE_MS}ms")
        run(*within, "tc", "qdisc", "replace", "dev", device, "root", "handle", "1:", *limit)


def _take_turns(
    within: Words, device: str, rate: str, ports: Sequence[Sequence[VirtualHost]]
) -> None:
    """Give each port behind a limited cable, with the hosts that send by it, a queue of its own,
    and serve these in turn. The first class has what none of them sends."""
    there = ("dev", device, "parent")
    run(*within, "tc", "qdisc", "add", *there, "1:1", "handle", "2:", "htb", "default", "1")
    for number, hosts in enumerate([(), *ports], 1):
        port = f"2:{number:x}"
        turn = ("htb", *NO_LIMIT, "quantum", str(QUANTUM_BYTES))
        run(*within, "tc", "class", "add", *there, "2:", "classid", port, *turn)
        queue = ("bfifo", "limit", str(queue_bytes(rate)))
        run(*within, "tc", "qdisc", "add", *there, port, *queue)
        for host in hosts:
            of_host = ("u32", "match", "ip", "src", f"{host.address}/32", "flowid", port)
            run(*within, "tc", "filter", "add", *there, "2:", "protocol", "ip", *of_host)


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
    run(*within, "ip", "link", "set", join, "master", host.bridge, "up")
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
