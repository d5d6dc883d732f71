"""The proof of each launch about itself, read from the evidence of its samples."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from weft.bench.model import Sample, State
from weft.core.errors import InputError


class _Record(BaseModel):
    """Evidence holds more than is judged here."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class CarriedBytes(_Record):
    """Bytes that crossed fast devices, and other devices between hosts."""

    fabric: int = 0
    elsewhere: int = 0


class FastDevice(_Record):
    """A fast device by name, over all hosts that have it."""

    device: str
    link_layer: str | None = None
    hosts: int = 0
    states: tuple[str, ...] = ()
    bytes: int = 0


class EthernetLinks(_Record):
    """Hosts, the first few by name, whose messages crossed a device of this rate."""

    device: str
    gbps: float = Field(gt=0)
    n_hosts: int
    hosts: tuple[str, ...] = ()


class Named(_Record):
    """Bytes of the devices that were named and of the busiest other one; the hosts that missed
    them, the first few by name; the least that ranks sent (0: not known)."""

    devices: tuple[str, ...]
    bytes: int = 0
    other: str | None = None
    other_bytes: int = 0
    sent_bytes: int = 0
    n_missed: int = 0
    missed: tuple[str, ...] = ()


class OffHost(_Record):
    """A host whose bytes went elsewhere, with its fast devices and their states."""

    host: str
    carried_by: str | None = None
    fast: Mapping[str, str | None] = {}


class OffFabric(_Record):
    """Hosts whose bytes went elsewhere; the first few by name."""

    n_hosts: int = 0
    hosts: tuple[OffHost, ...] = ()


class Crowded(_Record):
    """Ranks that may use no CPU but a few which too many of them share."""

    n_ranks: int
    n_hosts: int
    host: str
    cpus: str | None = None
    n_cpus: int
    n_sharing_cpus: int
    n_machine_cpus: int


class Far(_Record):
    """Ranks whose CPUs are on another NUMA node than their device."""

    n_ranks: int
    n_hosts: int
    host: str
    rail: str | None = None
    cpus: str | None = None
    cpu_numa_nodes: tuple[int, ...]
    device_numa_nodes: tuple[int, ...]


class Moved(_Record):
    """A byte counter that moved while no rank sent."""

    host: str
    device: str
    counter: str
    mb_s: float
    link_share: float | None = None


class Quiet(_Record):
    """How long the network was watched, and what moved: the busiest counters first."""

    seconds: float
    moved: tuple[Moved, ...] = ()


class ClockFacts(_Record):
    """Step and cost of the clock; whether all ranks read the same one."""

    resolution_ns: int
    cost_ns: int = 0
    common: bool = True


class NeighbourJob(_Record):
    """Another job of the scheduler: on these nodes, or behind these leaf switches."""

    id: str
    user: str
    nodes: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()


class NeighbourRecord(_Record):
    """Other jobs, or why they are not known."""

    jobs: tuple[NeighbourJob, ...] = ()
    not_known: str | None = None


class _Evidence(_Record):
    mpi_library: str = ""
    mpi_selected: tuple[str, ...] = ()
    open_devices: tuple[str, ...] = ()
    rail_settings: Mapping[str, tuple[str, ...]] = {}
    hosts: int = 0
    machines: int | None = None
    device_bytes: Mapping[str, int] = {}
    device_errors: Mapping[str, int] = {}
    carried_bytes: CarriedBytes | None = None
    fast_devices: tuple[FastDevice, ...] = ()
    ethernet: tuple[EthernetLinks, ...] = ()
    off_fabric: OffFabric | None = None
    named: Named | None = None
    crowded_cpus: Crowded | None = None
    far_ranks: Far | None = None
    quiet: Quiet | None = None
    clock: ClockFacts | None = None
    neighbours: NeighbourRecord | None = None


@dataclass(frozen=True, slots=True)
class Proof:
    """The evidence of one launch, with what of its samples it is held against.

    `n_sent_bytes` is a lower bound of what ranks on different hosts sent one another, 0 where it is
    not known. `shortest_ns` is the shortest time that one reading of the clock closed, None where
    no latency was measured.
    """

    evidence: _Evidence
    state: State
    n_sent_bytes: int
    shortest_ns: float | None
    skewed: bool


def proofs_of(samples: Iterable[Sample]) -> tuple[Proof, ...]:
    """One a launch that left evidence, in the order of `samples`. Raises InputError on evidence
    that is not weft's."""
    launches: dict[tuple[str, int], list[Sample]] = {}
    for sample in samples:
        launches.setdefault((sample.trial, sample.repeat), []).append(sample)
    return tuple(_proof(own) for own in launches.values() if any(one.evidence for one in own))


def _proof(own: list[Sample]) -> Proof:
    first = next(sample for sample in own if sample.evidence)
    try:
        evidence = _Evidence.model_validate(first.evidence)
    except ValidationError as error:
        key = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise InputError(
            f"the evidence '{key}' is damaged: {error.errors()[0]['msg']}",
            where=f"sample of {first.trial}, repeat {first.repeat}",
            expected="evidence as docs/reference/run_directory.md says",
        ) from error
    off = any(sample.state is State.NOT_ON_FABRIC for sample in own)
    flags = {flag for sample in own for flag in sample.flags}
    return Proof(
        evidence,
        State.NOT_ON_FABRIC if off else State.OK,
        sum(map(_sent_bytes, own)),
        min(filter(None, map(_closed_ns, own)), default=None),
        skewed=bool(flags & {"skew_dominates", "late_starts"}),
    )


def _sent_bytes(sample: Sample) -> int:
    """At least so many bytes between hosts. Collectives say nothing: ranks of a host share memory,
    and what crosses depends on the algorithm. A window sends more than once an iteration."""
    between = sample.benchmark in ("latency", "bandwidth", "bidirectional")
    if sample.pair is not None:
        between = sample.pair.a.partition(":")[0] != sample.pair.b.partition(":")[0]
    return sample.size_bytes * sample.iterations if between else 0


def _closed_ns(sample: Sample) -> float | None:
    """A round trip point to point, a call of a collective."""
    latency_us = sample.metrics.get("latency_us_p50", sample.metrics.get("latency_us"))
    if latency_us is None:
        return None
    trips = 2 if sample.benchmark in ("latency", "pairs") else 1
    return latency_us * 1e3 * trips
