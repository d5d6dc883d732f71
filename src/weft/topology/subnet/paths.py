"""Paths through a subnet: by forwarding tables, or all that adaptive routing may take."""

from dataclasses import dataclass

from weft.core.errors import InputError
from weft.topology.engine import COMPUTED_TABLES
from weft.topology.subnet.place_names import Place
from weft.topology.subnet.subnet import Subnet


@dataclass(frozen=True, slots=True)
class RouteHop:
    """A cable crossed: out of one port, into another; each a node's index and a port number."""

    egress: tuple[int, int]
    ingress: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Route:
    """The path from a place to a place. `error`: where a path ends that does not arrive, or, if
    `is_unknown`, where it ends for want of a table, or perhaps of a line that was not understood.
    """

    src: Place
    dst: Place
    hops: tuple[RouteHop, ...]
    error: str | None = None
    is_unknown: bool = False

    def slowest_gbps(self, subnet: Subnet) -> float | None:
        """The data rate of the slowest cable, None where rates are not known."""
        rates = [subnet.cable_at[hop.egress].a.gbps for hop in self.hops]
        known = [rate for rate in rates if rate is not None]
        return min(known) if known and len(known) == len(rates) else None


def routes_between(
    subnet: Subnet, sources: tuple[Place, ...], destinations: tuple[Place, ...], *, adaptive: bool
) -> tuple[Route, ...]:
    """Paths from the ports of one name to those of another and back: rail by rail where both have
    equally many, else between the first port and all others.

    Raises InputError without forwarding tables.
    """
    if not subnet.has_tables:
        raise InputError(
            "no forwarding tables were read",
            expected="opensm-lfts.dump, opensm.fdbs, or the output of dump_lfts, too",
            hint=COMPUTED_TABLES,
        )
    if len(sources) == len(destinations):
        pairs = list(zip(sources, destinations, strict=True))
    elif len(sources) < len(destinations):
        pairs = [(sources[0], place) for place in destinations]
    else:
        pairs = [(place, destinations[0]) for place in sources]
    both = (ends for a, b in pairs for ends in ((a, b), (b, a)))
    return tuple(_route(subnet, a, b, adaptive=adaptive) for a, b in both)


def _route(subnet: Subnet, src: Place, dst: Place, *, adaptive: bool) -> Route:
    hops, error, is_unknown = subnet.trace(src.node, src.port, dst.lid, adaptive=adaptive)
    is_torn = error is not None and bool(subnet.description["unread"])
    return Route(src, dst, tuple(RouteHop(*hop) for hop in hops), error, is_unknown or is_torn)
