"""Values of the findings about a run's validity. A field's name is its key in JSON."""

from dataclasses import dataclass

from weft.core.finding import FindingFacts


@dataclass(frozen=True, slots=True)
class ValidityFacts(FindingFacts):
    """The name of the proof that failed; remedies go by it."""

    validity: str


@dataclass(frozen=True, slots=True)
class HostFacts(ValidityFacts):
    """The hosts that it is about."""

    hosts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OffFabricFacts(ValidityFacts):
    """Devices that were to carry the messages, and hosts where others did."""

    rails: tuple[str, ...]
    hosts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OtherNetworkFacts(ValidityFacts):
    """The device that carried the messages."""

    device: str


@dataclass(frozen=True, slots=True)
class OneMachineFacts(ValidityFacts):
    """Numbers of hosts and of machines; None where machines were not counted."""

    hosts: int
    machines: int | None


@dataclass(frozen=True, slots=True)
class UnprovedFacts(ValidityFacts):
    """Bytes that devices counted, and bytes that were sent."""

    counted: int
    sent: int


@dataclass(frozen=True, slots=True)
class RankFacts(ValidityFacts):
    """Ranks that it is about."""

    n_ranks: int


@dataclass(frozen=True, slots=True)
class CoarseClockFacts(ValidityFacts):
    """One step of the clock, in ns."""

    clock_ns: int


@dataclass(frozen=True, slots=True)
class NeighbourFacts(ValidityFacts):
    """Ids of other jobs."""

    jobs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GrownCounter:
    """An error counter of a host's device, and by how much it grew."""

    place: str
    counter: str
    n: int


@dataclass(frozen=True, slots=True)
class ErrorFacts(ValidityFacts):
    """Error counters that grew during the run, and their hosts."""

    hosts: tuple[str, ...]
    counters: tuple[GrownCounter, ...]
