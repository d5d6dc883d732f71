"""The values that findings about a run's validity state, as types."""

from dataclasses import dataclass

from weft.core.finding import FindingFacts


@dataclass(frozen=True, slots=True)
class ValidityFacts(FindingFacts):
    """`validity`: the short name of the finding."""

    validity: str


@dataclass(frozen=True, slots=True)
class MissedNetwork(ValidityFacts):
    """Devices that should have carried the messages, and the hosts to measure again."""

    rails: tuple[str, ...]
    hosts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AffectedHosts(ValidityFacts):
    """The hosts that a finding is about."""

    hosts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CountedMachines(ValidityFacts):
    """How many hosts and machines took part; `machines` is None where unknown."""

    hosts: int
    machines: int | None


@dataclass(frozen=True, slots=True)
class CountedRanks(ValidityFacts):
    """How many ranks a finding is about."""

    n_ranks: int


@dataclass(frozen=True, slots=True)
class CarryingDevice(ValidityFacts):
    """The device that carried the messages."""

    device: str


@dataclass(frozen=True, slots=True)
class CountedBytes(ValidityFacts):
    """Bytes that devices counted, and bytes that ranks sent at least."""

    counted: int
    sent: int


@dataclass(frozen=True, slots=True)
class ClockStep(ValidityFacts):
    """Nanoseconds of one step or one reading of the clock."""

    clock_ns: int


@dataclass(frozen=True, slots=True)
class OtherJobs(ValidityFacts):
    """Jobs of other users, by id."""

    jobs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GrownCounter:
    """An error counter at a place ('host device'), which grew by `n`."""

    place: str
    counter: str
    n: int


@dataclass(frozen=True, slots=True)
class GrownCounters(ValidityFacts):
    """Error counters that grew during a run, and the hosts that have them."""

    hosts: tuple[str, ...]
    counters: tuple[GrownCounter, ...]
