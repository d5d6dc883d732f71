"""The load of a traffic on every cable, as a multiple of its fair share."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from weft.core.errors import InputError
from weft.topology.engine import COMPUTED_TABLES
from weft.topology.subnet.subnet import CableEnd, Subnet, paths_of_ports
from weft.topology.subnet.summary import levels_of
from weft.topology.subnet.traffic import Traffic

if TYPE_CHECKING:
    from weft.topology.engine import PortLoads

Port = tuple[int, int]
MEGABYTE = 1e6


@dataclass(frozen=True, slots=True)
class TierLoad:
    """Ports that lead from one level of switches to another: multiples of the fair share, and the
    port with the greatest."""

    from_level: int
    to_level: int
    shares: tuple[float, ...]
    fullest: Port

    @property
    def most(self) -> float:
        """The greatest multiple."""
        return max(self.shares)

    @property
    def words(self) -> str:
        """'up from level 1 to 2', 'between switches of level 1'."""
        if self.from_level == self.to_level:
            return f"between switches of level {self.from_level}"
        direction = "up" if self.from_level < self.to_level else "down"
        return f"{direction} from level {self.from_level} to {self.to_level}"


@dataclass(frozen=True, slots=True)
class Load:
    """By egress port between switches: what leaves it (paths or bytes), and as a multiple of the
    fair share: what its tier carries in that direction, spread by the cables' rates, and at least
    what one pair sends, which no cable can share."""

    title: str
    unit: str
    amount: Mapping[Port, int]
    share: Mapping[Port, float]
    tiers: tuple[TierLoad, ...]

    @property
    def fullest(self) -> TierLoad | None:
        """The tier with the greatest multiple; None where no cable carries anything."""
        return max(self.tiers, key=lambda tier: tier.most, default=None)

    def shown(self, port: Port) -> str:
        """'12 paths' or '3.5 MB': what leaves a port."""
        n = self.amount.get(port, 0)
        if self.unit == "B":
            return f"{n:,} B" if n < MEGABYTE else f"{n / MEGABYTE:,.1f} MB"
        return f"{n:,} path{'' if n == 1 else 's'}"

    def of(self, ends: tuple[CableEnd, CableEnd]) -> float:
        """The greater multiple of a cable's two directions."""
        return max(self.share.get(end.key, 0.0) for end in ends)


def load_of(subnet: Subnet, traffic: Traffic) -> Load:
    """Paths follow the subnet's forwarding tables. Raises InputError where there are none."""
    if not subnet.has_tables:
        raise InputError(
            "no forwarding tables were read, so the loaded cables are unknown",
            expected="opensm-lfts.dump, opensm.fdbs, or the output of dump_lfts, too",
            hint=COMPUTED_TABLES,
        )
    amount: dict[Port, int] = defaultdict(int)
    if traffic.is_all_to_all:
        _add(amount, subnet.loads(), 1)
    for n_bytes, pairs in traffic.by_bytes.items():
        _add(amount, subnet.loads(pairs), n_bytes)
    share, tiers = _shares(subnet, amount, traffic.most_of_a_pair)
    return Load(traffic.title, traffic.unit, dict(amount), share, tiers)


def _add(amount: dict[Port, int], loads: "PortLoads", times: int) -> None:
    for port, n_paths in paths_of_ports(loads):
        amount[port] += n_paths * times


def _shares(
    subnet: Subnet, amount: Mapping[Port, int], most_of_a_pair: int
) -> tuple[dict[Port, float], tuple[TierLoad, ...]]:
    by_tier: dict[tuple[int, int], list[tuple[Port, float]]] = defaultdict(list)
    for port in amount:
        gbps = subnet.cable_at[port].gbps or 1.0
        by_tier[levels_of(subnet, port)].append((port, gbps))
    share: dict[Port, float] = {}
    tiers = []
    for levels, ports in sorted(by_tier.items()):
        total = sum(amount[port] for port, _ in ports)
        if not total:
            continue
        a_gbps = total / sum(gbps for _, gbps in ports)
        own = {port: amount[port] / max(a_gbps * gbps, most_of_a_pair) for port, gbps in ports}
        share |= own
        fullest = max(own, key=lambda port: own[port])
        tiers.append(TierLoad(*levels, tuple(own.values()), fullest))
    return share, tuple(tiers)
