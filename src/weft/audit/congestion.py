"""Congestion between two readings of counters: which ports waited, for what, and whose traffic it
is.

A port that had data and no credit (PortXmitWait) waits for the ports behind it. Followed from port
to port, waiting ends at a root: a cable that carries all it can, or an adapter that takes less than
its cable brings. SOURCE: InfiniBand Architecture Specification volume 1, PortXmitWait; Gran et al.,
First experiences with congestion control in InfiniBand hardware, IPDPS 2010: congestion trees, with
their roots, contributors and victims.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from weft.audit.case import AuditCase, PortKey
from weft.audit.counters.counter_rates import OCTETS_A_TICK, WAIT
from weft.core.errors import InputError
from weft.core.words import counted

DATA = "PortXmitData"
FULL_COUNTER = 2**32 - 1
"""At which a counter of 32 bits stays."""
COVERS = 0.9
"""ASSUMED: readings of two ports are not of the same moment, so what a port waits for need not be
occupied quite as long as it waits."""
ALIKE = 0.5
"""ASSUMED: of the fullest port. Two jobs may have filled ports of a switch one after the other."""
OVERFULL = 1.1
"""ASSUMED: no port sends and waits longer than the time there is, but for readings that come a
moment late. Beyond it the time is wrong, or the vendor counts waits in another unit."""
HINT = 0.01
"""A port that waits so little is a root only if none behind it is fuller."""


@dataclass(frozen=True, slots=True)
class PortUse:
    """Shares of the time between the readings: `sent` of the cable's rate, `waited` for credits."""

    sent: float
    waited: float

    @property
    def occupied(self) -> float:
        """The share in which it had something to send."""
        return self.sent + self.waited


@dataclass(frozen=True, slots=True)
class CongestionTree:
    """Ports that wait, in the order of their waits, because of a `root`: a port that carries all
    it can, or one whose adapter takes too little (`is_slow_receiver`). `aggressors` and `victims`
    are jobs, each with its part: of the bytes through the root, and of its own paths over ports
    that wait."""

    root: PortKey
    is_slow_receiver: bool
    use: PortUse
    waiting: tuple[PortKey, ...]
    aggressors: tuple[tuple[str, float], ...] = ()
    victims: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Congestion:
    """`trees` by what waits for them, worst first; `unexplained` ports wait, and no reading says
    for what. `n_read` of `n_ports` ports of cables were read twice; `unusable` counters were
    cleared or full."""

    trees: tuple[CongestionTree, ...]
    unexplained: tuple[PortKey, ...]
    uses: Mapping[PortKey, PortUse]
    n_ports: int
    unusable: tuple[PortKey, ...]

    @property
    def n_read(self) -> int:
        """Ports with a use."""
        return len(self.uses)


def congestion_of(case: AuditCase, jobs: Mapping[str, Sequence[str]]) -> Congestion:
    """The congestion between the first and the last reading, and the jobs (name -> hosts) that
    cause and suffer it. Raises InputError without two readings, or without the time between."""
    if case.interval is None:
        raise InputError(
            "the time between the readings is unknown",
            expected="two readings of perfquery with their dates, or --seconds",
        )
    uses, unusable = _uses(case)
    if not uses and unusable:
        key = unusable[0]
        raise InputError(
            f"the counters of {counted(len(unusable), 'port')} were cleared or are full, those of "
            f"{case.subnet.name(*key)} first: no port is left",
            expected=f"two readings of {DATA} and {WAIT} with no reset between them, and before "
            "either is full",
            hint="clear the counters (perfquery -R -a), then read them twice",
        )
    if not uses:
        raise InputError(
            f"no port has two readings of {DATA} and {WAIT}",
            expected="perfquery of all ports (perfquery -l LID, or ibqueryerrors --data), twice",
        )
    fullest = max(uses, key=lambda key: uses[key].occupied)
    if uses[fullest].occupied > OVERFULL:
        raise InputError(
            f"{case.subnet.name(*fullest)} sent and waited for "
            f"{uses[fullest].occupied:.0%} of the time between the readings",
            where=f"{case.interval.seconds:g} s, {case.interval.how}",
            expected=f"the time between them (--seconds), and a {WAIT} that counts times of four "
            "octets",
        )
    least = case.thresholds.wait_share.value
    waiting = {key for key, use in uses.items() if use.waited >= least}
    by_root: dict[tuple[PortKey, bool], list[PortKey]] = defaultdict(list)
    unexplained = []
    for key in sorted(waiting, key=lambda key: (-uses[key].waited, key)):
        roots = set(_roots(case, uses, key))
        if not roots:
            unexplained.append(key)
        for root in roots:
            by_root[root].append(key)
    members = _members(case, jobs)
    crossed = {}
    if by_root and case.subnet.has_tables:
        crossed = {job: _crossed(case, numbers) for job, numbers in members.items()}
    shares = {job: _sent(case, uses, numbers) for job, numbers in members.items()}
    n_paths = {job: len(numbers) * (len(numbers) - 1) for job, numbers in members.items()}
    traffic = [_JobTraffic(job, crossed[job], n_paths[job], shares[job]) for job in crossed]
    trees = [_tree(uses, root, ports, traffic) for root, ports in by_root.items()]
    trees.sort(key=lambda tree: (-sum(uses[key].waited for key in tree.waiting), tree.root))
    return Congestion(
        tuple(trees), tuple(unexplained), uses, len(case.subnet.cable_at), tuple(unusable)
    )


def _uses(case: AuditCase) -> tuple[dict[PortKey, PortUse], list[PortKey]]:
    assert case.interval is not None
    uses, unusable = {}, []
    for key, readings in case.readings.items():
        cable = case.subnet.cable_at.get(key)
        if cable is None or cable.gbps is None or len(readings) < 2:
            continue
        first, last = readings[0]["counters"], readings[-1]["counters"]
        if not all(name in one for name in (DATA, WAIT) for one in (first, last)):
            continue
        grown = {name: last[name] - first[name] for name in (DATA, WAIT)}
        if min(grown.values()) < 0 or FULL_COUNTER in (last[DATA], last[WAIT]):
            unusable.append(key)
            continue
        whole = cable.gbps * 1e9 * case.interval.seconds / 8 / OCTETS_A_TICK
        uses[key] = PortUse(grown[DATA] / whole, grown[WAIT] / whole)
    return uses, unusable


def _roots(
    case: AuditCase, uses: Mapping[PortKey, PortUse], start: PortKey
) -> Iterator[tuple[PortKey, bool]]:
    """The ports that a waiting port waits for in the end; the second is whether its adapter is the
    reason. None where readings are missing on the way."""
    least = case.thresholds.wait_share.value
    seen, left = {start}, [start]
    while left:
        key = left.pop()
        beyond = case.subnet.cable_at[key].beyond(key)
        if not case.subnet.nodes[beyond.node].is_switch:
            yield key, True
            continue
        for port in _blocked(case, uses, key):
            if port in seen:
                continue
            seen.add(port)
            if uses[port].waited >= least or _waits_for_fuller(case, uses, port):
                left.append(port)
            else:
                yield port, False


def _blocked(case: AuditCase, uses: Mapping[PortKey, PortUse], key: PortKey) -> list[PortKey]:
    """The fullest egress ports of the switch behind a port, if they are occupied as long as it
    waits; but for the way back. None where a port of the switch was not read: it may be that."""
    beyond = case.subnet.cable_at[key].beyond(key)
    switch = case.subnet.nodes[beyond.node]
    if not switch.is_switch:
        return []
    keys = [(switch.index, port) for port in range(1, switch.n_ports + 1) if port != beyond.port]
    ports = [key for key in keys if key in case.subnet.cable_at]
    if any(port not in uses for port in ports):
        return []
    most = max((uses[port].occupied for port in ports), default=0.0)
    least = max(COVERS * uses[key].waited, ALIKE * most)
    return [port for port in ports if uses[port].occupied >= least]


def _waits_for_fuller(case: AuditCase, uses: Mapping[PortKey, PortUse], key: PortKey) -> bool:
    behind = _blocked(case, uses, key)
    return uses[key].waited >= HINT and any(uses[one].sent > uses[key].sent for one in behind)


def _members(case: AuditCase, jobs: Mapping[str, Sequence[str]]) -> dict[str, list[int]]:
    """By job the numbers of its end ports. Raises InputError for a host that the files lack."""
    by_host: dict[str, list[int]] = defaultdict(list)
    for number, endport in enumerate(case.subnet.endports):
        by_host[case.subnet.name(endport.node).split()[0]].append(number)
    found = {}
    for job, hosts in jobs.items():
        missing = next((host for host in hosts if host not in by_host), None)
        if missing is not None:
            raise InputError(
                f"job '{job}' has host '{missing}', which no file names",
                where="--jobs",
                expected=f"hosts such as {', '.join(sorted(by_host)[:3])}",
            )
        found[job] = [number for host in hosts for number in by_host[host]]
    return found


@dataclass(frozen=True, slots=True)
class _JobTraffic:
    """Its paths by port, of `n_paths`, and what its hosts send on average."""

    name: str
    crossed: Mapping[PortKey, int]
    n_paths: int
    sent: float


def _tree(
    uses: Mapping[PortKey, PortUse],
    at: tuple[PortKey, bool],
    waiting: Sequence[PortKey],
    jobs: Sequence[_JobTraffic],
) -> CongestionTree:
    root, is_slow = at
    through = {job.name: job.crossed[root] * job.sent for job in jobs if root in job.crossed}
    whole = sum(through.values())
    hit = {
        job.name: max((job.crossed.get(key, 0) for key in waiting), default=0) / job.n_paths
        for job in jobs
        if job.name not in through and job.n_paths
    }

    def most_first(parts: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
        found = ((name, part) for name, part in parts.items() if part > 0)
        return tuple(sorted(found, key=lambda one: (-one[1], one[0])))

    return CongestionTree(
        root,
        is_slow,
        uses[root],
        tuple(waiting),
        most_first({name: part / whole for name, part in through.items() if whole}),
        most_first(hit),
    )


def _crossed(case: AuditCase, numbers: Sequence[int]) -> dict[PortKey, int]:
    """Paths between the end ports of a job over each port, those to adapters among them."""
    found: dict[PortKey, int] = defaultdict(int)
    for one, other in combinations(numbers, 2):
        for a, b in ((one, other), (other, one)):
            source, target = case.subnet.endports[a], case.subnet.endports[b]
            hops, _, _ = case.subnet.trace(source.node, source.port, target.lid)
            for egress, _ in hops:
                found[egress] += 1
    return found


def _sent(case: AuditCase, uses: Mapping[PortKey, PortUse], numbers: Sequence[int]) -> float:
    """What a host of a job sends on average; alike for all where their ports were not read."""
    ports = [(case.subnet.endports[n].node, case.subnet.endports[n].port) for n in numbers]
    read = [uses[key].sent for key in ports if key in uses]
    return sum(read) / len(read) if read else 1.0


def to_record(case: AuditCase, found: Congestion) -> dict[str, Any]:
    """As JSON has it."""

    def port(key: PortKey) -> dict[str, Any]:
        use = found.uses[key]
        return {
            "port": case.subnet.name(*key),
            "sent": round(use.sent, 4),
            "waited": round(use.waited, 4),
        }

    return {
        "n_ports": found.n_ports,
        "n_read": found.n_read,
        "trees": [
            {
                "root": port(tree.root),
                "is_slow_receiver": tree.is_slow_receiver,
                "waiting": [port(key) for key in tree.waiting],
                "aggressors": [
                    {"job": job, "share": round(share, 4)} for job, share in tree.aggressors
                ],
                "victims": [{"job": job, "share": round(share, 4)} for job, share in tree.victims],
            }
            for tree in found.trees
        ],
        "unexplained": [port(key) for key in found.unexplained],
        "unusable": [case.subnet.name(*key) for key in found.unusable],
    }
