"""The worth of forwarding tables: lengths, loads, bisection, loops; one report an engine."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from scipy import special

from weft.core.work.progress import phases
from weft.topology.subnet.subnet import PortKey, Subnet, paths_of_ports
from weft.topology.subnet.summary import levels_of

if TYPE_CHECKING:
    from weft.topology import engine

MOST_SHIFTS = 64
MATCHINGS = 100
PHASES_S = {"paths": 0.3, "loop": 0.5, "tiers": 0.7, "bisection": 0.9}
"""The ratio of the times of a report's phases, for the bar (measured on 8,008 nodes)."""


@dataclass(frozen=True, slots=True)
class Tier:
    """Ports that lead from one level of switches to another, and paths over them when all send to
    all."""

    from_level: int
    to_level: int
    n_ports: int
    least_paths: int
    mean_paths: float
    most_paths: int
    fullest: tuple[int, int]

    @property
    def imbalance(self) -> float:
        """Paths over the fullest port for one over the mean of the tier."""
        return self.most_paths / self.mean_paths if self.mean_paths else 1.0


@dataclass(frozen=True, slots=True)
class Shifts:
    """The fullest port of each examined shift, in paths."""

    n_looked: int
    mean_paths: float
    most_paths: int


@dataclass(frozen=True, slots=True)
class BisectionBandwidth:
    """Effective bisection bandwidth as a share of the hosts' rate, with its 95 % interval over
    random matchings."""

    share: float
    low: float
    high: float
    least: float
    n_matchings: int


@dataclass(frozen=True, slots=True)
class CreditLoop:
    """A circle of egress ports that may wait for each other, with the lane of each."""

    channels: tuple[tuple[tuple[int, int], int], ...]
    n_channels: int


@dataclass(frozen=True, slots=True)
class RoutingReport:
    """The worth of one engine's tables. Ports are (node index, port number)."""

    engine: str
    n_pairs: int
    n_unreachable: int
    hops: dict[int, int]
    n_valley_paths: int
    credit_loop: CreditLoop | None
    tiers: tuple[Tier, ...]
    shifts: Shifts | None
    bisection: BisectionBandwidth | None
    loads: tuple[tuple[tuple[int, int], int], ...]

    def to_record(self, subnet: Subnet) -> dict[str, Any]:
        """The report as plain JSON values."""
        loop = self.credit_loop
        circle = [subnet.name(*end) for end, _ in loop.channels] if loop else None
        return {
            "engine": self.engine,
            "n_pairs": self.n_pairs,
            "n_unreachable": self.n_unreachable,
            "hops": {str(length): n for length, n in self.hops.items()},
            "n_valley_paths": self.n_valley_paths,
            "credit_loop": circle,
            "tiers": [
                {**asdict(tier), "fullest": subnet.name(*tier.fullest)} for tier in self.tiers
            ],
            "shifts": asdict(self.shifts) if self.shifts else None,
            "bisection": asdict(self.bisection) if self.bisection else None,
        }


def routing_report(
    subnet: Subnet, engine: str, *, seed: int = 0, matchings: int = MATCHINGS
) -> RoutingReport:
    """The worth of the tables of a subnet; `engine` is their name."""
    with phases(f"judging tables of {engine}", **PHASES_S) as begin:
        survey = subnet.survey()
        loads = paths_of_ports(subnet.loads())
        begin("loop")
        loop = subnet.credit_loop(0)
        begin("tiers")
        tiers = _tiers(subnet, loads)
        begin("bisection")
        return RoutingReport(
            engine=engine,
            n_pairs=survey["n_pairs"],
            n_unreachable=survey["n_unreachable"],
            hops=survey["hops"],
            n_valley_paths=survey["n_valley_paths"],
            credit_loop=_loop(loop),
            tiers=tiers,
            shifts=_shifts(subnet.shifts(MOST_SHIFTS)),
            bisection=_bisection(subnet.bisection(matchings, seed)),
            loads=tuple(loads),
        )


def _loop(loop: "engine.ChannelCircle | None") -> CreditLoop | None:
    if loop is None:
        return None
    channels = tuple(((end["node"], end["port"]), lane) for end, lane in loop["channels"])
    return CreditLoop(channels, loop["n_channels"])


def _tiers(subnet: Subnet, loads: Sequence[tuple[PortKey, int]]) -> tuple[Tier, ...]:
    by_levels: dict[tuple[int, int], list[tuple[int, tuple[int, int]]]] = defaultdict(list)
    for key, n_paths in loads:
        by_levels[levels_of(subnet, key)].append((n_paths, key))
    return tuple(
        Tier(
            *levels,
            n_ports=len(ports),
            least_paths=min(ports)[0],
            mean_paths=sum(n for n, _ in ports) / len(ports),
            most_paths=max(ports)[0],
            fullest=max(ports)[1],
        )
        for levels, ports in sorted(by_levels.items())
    )


def _shifts(answer: "engine.ShiftLoads") -> Shifts | None:
    worst = answer["worst"]
    return Shifts(len(worst), sum(worst) / len(worst), max(worst)) if worst else None


def _bisection(answer: "engine.BisectionShares | None") -> BisectionBandwidth | None:
    if answer is None:
        return None
    n, mean = len(answer["shares"]), answer["mean"]
    half = 0.0
    if n > 1:
        half = float(special.stdtrit(n - 1, 0.975)) * answer["standard_error"]
    return BisectionBandwidth(mean, mean - half, mean + half, answer["least"], n)
