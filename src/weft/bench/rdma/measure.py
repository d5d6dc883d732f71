"""One direction after the other: servers, then clients on all rails at once, then their rows."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from weft.bench.rdma.children import RemoteChild, RemoteChildren
from weft.bench.rdma.failure import Cause, why
from weft.bench.rdma.plan import Asked, Way
from weft.cluster.remote import Ssh
from weft.core.errors import BenchmarkError, InputError
from weft.results.result_file import read_results_text

READY_S = 10
SLACK_S = 30.0
"""Beyond the measured seconds: connecting, memory of a GPU, closing."""
SERVER_S = 1.0
"""For servers to end by themselves when their clients have."""

LISTENING = r"""
ticks=$1
shift
while :; do
    waiting=
    for port; do
        hex=$(printf '%04X' "$port")
        cat /proc/net/tcp /proc/net/tcp6 2>/dev/null |
            grep -q "^ *[0-9]*: [0-9A-F]*:$hex [0-9A-F]*:0000 0A " || waiting="$waiting $port"
    done
    [ -n "$waiting" ] && [ "$ticks" -gt 0 ] || break
    ticks=$((ticks - 1))
    sleep 0.2
done
echo $waiting
"""
"""Prints those of the TCP ports on which nothing listens, once all do or the ticks are over.

SOURCE: proc(5) of man-pages 6.03, /proc/net/tcp: local and remote address, state 0A = LISTEN.
"""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a rail carried in one direction, or why nobody knows."""

    way: Way
    gbps: float | None
    cause: Cause | None = None


def measure(
    ssh: Ssh,
    directions: Sequence[Sequence[Way]],
    asked: Asked,
    folder: Path,
    tell: Callable[[str], None],
) -> list[Reading]:
    """Readings of every way, in order; what the commands wrote stays in `folder`. Of a direction
    in which a host is gone every way has that as its cause. Raises InputError where a TCP port is
    taken."""
    for ways in directions:
        with suppress(BenchmarkError):  # of a host that is gone: its ways say so below
            _refuse_taken(ssh, [way for way in ways if not way.pair.down])
    readings: list[Reading] = []
    for ways in directions:
        up = [way for way in ways if not way.pair.down]
        down = [Reading(way, None, _down(way)) for way in ways if way.pair.down]
        tell(f"{ways[0].source.host} -> {ways[0].target.host}: {len(up)} rails, {asked.seconds} s")
        try:
            measured = _direction(ssh, up, asked, folder) if up else []
        except BenchmarkError as gone:
            cause = Cause(str(gone).splitlines()[0], f"try by hand: ssh {gone.where} true")
            measured = [Reading(way, None, cause) for way in up]
        readings += sorted([*measured, *down], key=lambda reading: reading.way.number)
    return readings


def _refuse_taken(ssh: Ssh, ways: Sequence[Way]) -> None:
    if not ways:
        return
    target = ways[0].target.host
    ports = [way.port for way in ways]
    taken = sorted(set(ports) - _silent(ssh, target, ports, 0))
    if taken:
        raise InputError(
            f"TCP port {taken[0]} is taken",
            where=target,
            expected=f"free ports from {min(ports)} to {max(ports)}",
            hint="--port names another first one; is an ib_write_bw left over there?",
        )


def _direction(ssh: Ssh, ways: Sequence[Way], asked: Asked, folder: Path) -> list[Reading]:
    target = ways[0].target.host
    ports = [way.port for way in ways]
    with RemoteChildren(ssh) as children:
        servers = [
            children.start(target, way.server(asked), way.env, folder / _file_name(way, "server"))
            for way in ways
        ]
        deaf = _deaf_ports(ssh, target, dict(zip(ports, servers, strict=True)))
        clients = [
            None
            if way.port in deaf
            else children.start(
                way.source.host, way.client(asked), way.env, folder / _file_name(way, "client")
            )
            for way in ways
        ]
        children.wait([one for one in clients if one is not None], asked.seconds + SLACK_S)
        listening = [one for one, way in zip(servers, ways, strict=True) if way.port not in deaf]
        children.wait(listening, SERVER_S)
        return [
            _reading(way, client, server, asked)
            for way, client, server in zip(ways, clients, servers, strict=True)
        ]


def _deaf_ports(ssh: Ssh, host: str, servers: Mapping[int, RemoteChild]) -> set[int]:
    """The ports of those servers that are over already, or do not listen in time."""
    until = time.monotonic() + READY_S
    left = set(servers)
    while left and time.monotonic() < until:
        running = {port for port in left if servers[port].process.exit_code is None}
        if not running:
            # Raises where they ended because the host is gone.
            _silent(ssh, host, sorted(left), 1)
            break
        left = (left - running) | _silent(ssh, host, sorted(running), 5)
    return left


def _silent(ssh: Ssh, host: str, ports: Sequence[int], ticks: int) -> set[int]:
    """Those of the ports on which nothing listens, after so many looks of 0.2 s at most."""
    command = ("sh", "-c", LISTENING, "sh", str(ticks), *map(str, ports))
    said = ssh.run(host, command, timeout_s=SLACK_S + ticks)
    if not said.ok:
        raise BenchmarkError(
            f"cannot be asked which TCP ports listen: {said.last_line}", where=host
        )
    return {int(word) for word in said.out.split() if word.isdecimal()} & set(ports)


def _reading(way: Way, client: RemoteChild | None, server: RemoteChild, asked: Asked) -> Reading:
    if client is None:
        return Reading(way, None, _deaf(way, server))
    code = client.process.exit_code
    text = client.output()
    if client.too_loud:
        return Reading(way, None, Cause("its client wrote more than is kept", "run it by hand"))
    if code is None:
        late = f"its client was not done in {asked.seconds + SLACK_S:g} s"
        return Reading(way, None, why(way, text) or Cause(late, "look at the raw output"))
    gbps = _gbps(client.out, asked.size_bytes)
    if code == 0 and gbps is not None:
        return Reading(way, gbps)
    # Where the client only lost its partner, the server says what happened.
    found = why(way, text) or why(way, server.output())
    ended = f"its client ended with code {code}" if code else "its client printed no row"
    return Reading(way, None, found or Cause(ended, "look at the raw output"))


def _gbps(out: Path, size_bytes: int) -> float | None:
    """Gb/s of the row of this size in perftest's output."""
    content = out.read_bytes()
    try:
        tables = read_results_text(content, out.name).tables if content else ()
    except InputError:
        return None
    found = [
        row.metrics["bandwidth_mb_s"]
        for table in tables
        if table.tool == "perftest"
        for row in table.rows
        if row.size_bytes == size_bytes and "bandwidth_mb_s" in row.metrics
    ]
    return found[-1] * 8 / 1e3 if found else None


def _down(way: Way) -> Cause:
    ends = ((way.source.host, way.source_rail), (way.target.host, way.target_rail))
    told = [f"{rail.name} of {host} is {rail.state}" for host, rail in ends if not rail.active]
    remedy = "look at its cable and its switch port, and whether a subnet manager runs"
    return Cause(" and ".join(told), remedy)


def _deaf(way: Way, server: RemoteChild) -> Cause:
    found = why(way, server.output(), side="server")
    if found is not None:
        return found
    return Cause(
        f"its server on {way.target.host} did not listen within {READY_S} s",
        f"run it there by hand, see the raw output: {server.out.name}",
    )


def _file_name(way: Way, side: str) -> str:
    rail = way.source_rail if side == "client" else way.target_rail
    words = f"{way.source.host}-to-{way.target.host}.{rail.device}-{rail.port}.{side}"
    return re.sub(r"[^\w.-]", "_", words)
