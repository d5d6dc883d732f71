"""One direction after the other: servers, then clients on all rails at once, then their rows."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from weft.bench.rdma.children import RemoteChild, RemoteChildren
from weft.bench.rdma.failure import RdmaCause, cause_of
from weft.bench.rdma.plan import PerftestOptions, RailPath
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
    """The rate of a rail in one direction, or the cause of its absence."""

    path: RailPath
    gbps: float | None
    cause: RdmaCause | None = None


def measure(
    ssh: Ssh,
    directions: Sequence[Sequence[RailPath]],
    options: PerftestOptions,
    folder: Path,
    report: Callable[[str], None],
) -> list[Reading]:
    """Readings of every path, in order; the output of the commands stays in `folder`. Where a
    host of a direction is gone, that is the cause of all its paths. Raises InputError where a TCP
    port is taken."""
    for paths in directions:
        with suppress(BenchmarkError):  # The readings below name a host that is gone.
            _refuse_ports_in_use(ssh, [path for path in paths if not path.pair.down])
    readings: list[Reading] = []
    for paths in directions:
        up = [path for path in paths if not path.pair.down]
        down = [Reading(path, None, _down(path)) for path in paths if path.pair.down]
        ends = f"{paths[0].source.host} -> {paths[0].target.host}"
        report(f"{ends}: {len(up)} rails, {options.seconds} s")
        try:
            measured = _direction(ssh, up, options, folder) if up else []
        except BenchmarkError as gone:
            cause = RdmaCause(str(gone).splitlines()[0], f"try by hand: ssh {gone.where} true")
            measured = [Reading(path, None, cause) for path in up]
        readings += sorted([*measured, *down], key=lambda reading: reading.path.number)
    return readings


def _refuse_ports_in_use(ssh: Ssh, paths: Sequence[RailPath]) -> None:
    if not paths:
        return
    target = paths[0].target.host
    ports = [path.port for path in paths]
    in_use = sorted(set(ports) - _ports_without_listener(ssh, target, ports, 0))
    if in_use:
        raise InputError(
            f"TCP port {in_use[0]} is taken",
            where=target,
            expected=f"free ports from {min(ports)} to {max(ports)}",
            hint="--port names another first one; is an ib_write_bw left over there?",
        )


def _direction(
    ssh: Ssh, paths: Sequence[RailPath], options: PerftestOptions, folder: Path
) -> list[Reading]:
    target = paths[0].target.host
    ports = [path.port for path in paths]
    with RemoteChildren(ssh) as children:
        servers = [
            children.start(
                target, path.server(options), path.env, folder / _file_name(path, "server")
            )
            for path in paths
        ]
        closed = _closed_ports(ssh, target, dict(zip(ports, servers, strict=True)))
        clients = [
            None
            if path.port in closed
            else children.start(
                path.source.host,
                path.client(options),
                path.env,
                folder / _file_name(path, "client"),
            )
            for path in paths
        ]
        children.wait([one for one in clients if one is not None], options.seconds + SLACK_S)
        listening = [
            one for one, path in zip(servers, paths, strict=True) if path.port not in closed
        ]
        children.wait(listening, SERVER_S)
        return [
            _reading(path, client, server, options)
            for path, client, server in zip(paths, clients, servers, strict=True)
        ]


def _closed_ports(ssh: Ssh, host: str, servers: Mapping[int, RemoteChild]) -> set[int]:
    """The ports of those servers that are over already, or do not listen in time."""
    until = time.monotonic() + READY_S
    left = set(servers)
    while left and time.monotonic() < until:
        running = {port for port in left if servers[port].process.exit_code is None}
        if not running:
            # Raises where they ended because the host is gone.
            _ports_without_listener(ssh, host, sorted(left), 1)
            break
        left = (left - running) | _ports_without_listener(ssh, host, sorted(running), 5)
    return left


def _ports_without_listener(ssh: Ssh, host: str, ports: Sequence[int], ticks: int) -> set[int]:
    """Those of the ports on which nothing listens, after so many waits of 0.2 s at most."""
    command = ("sh", "-c", LISTENING, "sh", str(ticks), *map(str, ports))
    result = ssh.run(host, command, timeout_s=SLACK_S + ticks)
    if not result.ok:
        raise BenchmarkError(
            f"cannot be asked which TCP ports listen: {result.last_line}", where=host
        )
    return {int(word) for word in result.out.split() if word.isdecimal()} & set(ports)


def _reading(
    path: RailPath, client: RemoteChild | None, server: RemoteChild, options: PerftestOptions
) -> Reading:
    if client is None:
        return Reading(path, None, _not_listening(path, server))
    code = client.process.exit_code
    text = client.output()
    if client.too_loud:
        return Reading(
            path, None, RdmaCause("its client wrote more than is kept", "run it by hand")
        )
    if code is None:
        late = f"its client was not done in {options.seconds + SLACK_S:g} s"
        return Reading(
            path, None, cause_of(path, text) or RdmaCause(late, "look at the raw output")
        )
    gbps = read_rate(client.out, options.size_bytes)
    if code == 0 and gbps is not None:
        return Reading(path, gbps)
    # Where the client only lost its partner, the server reports the cause.
    found = cause_of(path, text) or cause_of(path, server.output())
    ended = f"its client ended with code {code}" if code else "its client printed no row"
    return Reading(path, None, found or RdmaCause(ended, "look at the raw output"))


def read_rate(out: Path, size_bytes: int) -> float | None:
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


def _down(path: RailPath) -> RdmaCause:
    ends = ((path.source.host, path.source_rail), (path.target.host, path.target_rail))
    states = [f"{rail.name} of {host} is {rail.state}" for host, rail in ends if not rail.active]
    remedy = "look at its cable and its switch port, and whether a subnet manager runs"
    return RdmaCause(" and ".join(states), remedy)


def _not_listening(path: RailPath, server: RemoteChild) -> RdmaCause:
    found = cause_of(path, server.output(), side="server")
    if found is not None:
        return found
    return RdmaCause(
        f"its server on {path.target.host} did not listen within {READY_S} s",
        f"run it there by hand, see the raw output: {server.out.name}",
    )


def _file_name(path: RailPath, side: str) -> str:
    rail = path.source_rail if side == "client" else path.target_rail
    words = f"{path.source.host}-to-{path.target.host}.{rail.device}-{rail.port}.{side}"
    return re.sub(r"[^\w.-]", "_", words)
