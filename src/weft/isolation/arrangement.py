"""Arrangements of a fabric for its tenants: service levels, virtual lanes, congestion control.

A lane of its own keeps a tenant's packets from waiting behind others' in buffers; switches then
share a cable between lanes by weight, or serve some lanes first. Congestion control keeps senders
from filling buffers that others need.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from weft.isolation.annex_a10 import settings
from weft.isolation.tenants import Tenancy, Tenant
from weft.topology.fabric_spec import Document

N_LEVELS = 16
NO_LIMIT = 255
"""Of what high priority sends before low. SOURCE: InfiniBand Architecture Specification, volume 1,
PortInfo: 255 is unlimited."""
WEIGHT = 64
"""Of every lane alike, in units of 64 bytes: a packet of 4 KiB."""
DROPPED = 15

Weights = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Arrangement:
    """`levels` by tenant, `lanes` by service level, who shares cables how (`low`, `high`: lanes and
    weights; `high` first), and the law of congestion control, "off" for none; `gbps`: the rate of
    hosts, which times of the law are for."""

    words: str
    levels: Mapping[str, int]
    lanes: tuple[int, ...]
    low: Weights
    high: Weights = ()
    law: str = "off"
    gbps: float = 200.0

    @property
    def has_lanes(self) -> bool:
        """Whether tenants are on several lanes."""
        return len({self.lanes[level] for level in self.levels.values()}) > 1

    def to_scenario(self) -> Document:
        """The keys of a scenario. Its lanes are numbered without gaps. Lane 15 drops packets: no
        tenant's level has it."""
        used = sorted(set(self.lanes) - {DROPPED})
        number = {lane: at for at, lane in enumerate(used)}
        entries = {
            name: [{"vl": number[lane], "weight": weight} for lane, weight in weights]
            for name, weights in (("low", self.low), ("high", self.high))
            if weights
        }
        lanes = [number.get(lane, 0) for lane in self.lanes]
        found: Document = {"lanes": {"count": len(used), "sl2vl": lanes, **entries}}
        if self.high:
            found["lanes"]["high_limit"] = NO_LIMIT
        if self.law != "off":
            knobs = settings(self.gbps) if self.law == "annex_a10" else {}
            found["congestion_control"] = {self.law: knobs}
        return found


def arrangements(tenancy: Tenancy, gbps: float = 200.0) -> list[Arrangement]:
    """Those that are tried, in the order of how much they ask of the fabric; `gbps` is the rate of
    its hosts."""
    levels = levels_of(tenancy)
    shared = {tenant.name: tenant.service_level or 0 for tenant in tenancy.tenants}
    one_lane = Arrangement("one lane", shared, (0,) * N_LEVELS, ((0, WEIGHT),))
    found = [one_lane]
    if tenancy.data_lanes > 1:
        lanes = _lanes(tenancy, levels)
        used = tuple(sorted(set(lanes)))
        equal = tuple((lane, WEIGHT) for lane in used)
        found.append(Arrangement("lanes", levels, lanes, equal))
        firsts = {lanes[levels[tenant.name]] for tenant in tenancy.victims} - {0}
        low = tuple((lane, WEIGHT) for lane in used if lane not in firsts)
        high = tuple((lane, WEIGHT) for lane in used if lane in firsts)
        if high:
            found.append(Arrangement("lanes, priority", levels, lanes, low, high))
    if tenancy.congestion_control != "off":
        found += [_controlled(one, tenancy.congestion_control, gbps) for one in found]
    return found


def _controlled(one: Arrangement, law: str, gbps: float) -> Arrangement:
    words = "congestion control" if not one.has_lanes else f"{one.words}, congestion control"
    return Arrangement(words, one.levels, one.lanes, one.low, one.high, law, gbps)


def levels_of(tenancy: Tenancy) -> dict[str, int]:
    """The service level of each tenant: its own, else one for each tenant with a target, the
    strictest first, as far as lanes go; 0 for the others."""
    chosen = {
        tenant.name: tenant.service_level
        for tenant in tenancy.tenants
        if tenant.service_level is not None
    }
    taken = {level % tenancy.data_lanes for level in chosen.values()}
    free = [level for level in range(1, tenancy.data_lanes) if level not in taken]
    strictest = sorted(tenancy.victims, key=_strictness)
    asked = [tenant for tenant in strictest if tenant.name not in chosen]
    for number, tenant in enumerate(asked):
        # Those for whom no lane is left share the last.
        chosen[tenant.name] = free[min(number, len(free) - 1)] if free else 0
    return {tenant.name: chosen.get(tenant.name, 0) for tenant in tenancy.tenants}


def _strictness(tenant: Tenant) -> float:
    return tenant.target or 0.0


def _lanes(tenancy: Tenancy, levels: Mapping[str, int]) -> tuple[int, ...]:
    """By service level: the lane of its number, of those that tenants use; lane 0 for all others,
    which are unknown traffic."""
    used = set(levels.values())
    lanes = {level: level % tenancy.data_lanes for level in used}
    return tuple(lanes.get(level, 0) for level in range(N_LEVELS))
