"""`weft fabric trace A B FILE...`: which cables packets cross."""

from collections.abc import Sequence
from typing import Any

import click

from weft.cli.fabric.files import open_subnet, say_problems
from weft.cli.fail_on import exit_code_of, fail_on_option
from weft.cli.options import ENGINE
from weft.cli.output import emit, format_option
from weft.core.finding import Severity, cannot_tell
from weft.core.words import counted
from weft.topology.subnet.paths import Route, routes_between
from weft.topology.subnet.place_names import Places
from weft.topology.subnet.subnet import Subnet


@click.command("trace")
@click.argument("src", metavar="A")
@click.argument("dst", metavar="B")
@click.argument("files", nargs=-1, required=True)
@click.option(
    "--engine",
    type=ENGINE,
    help="By the tables that OpenSM's engine would compute, not those that were read.",
)
@click.option(
    "--adaptive",
    is_flag=True,
    help="Every cable that adaptive routing may take: by the groups that were read, else all ports "
    "with the fewest hops.",
)
@fail_on_option
@format_option
def command(
    *, src: str, dst: str, files: tuple[str, ...], engine: str | None, adaptive: bool, format_: str
) -> int:
    """The path of packets from A to B, and back.

    A and B are hosts, node descriptions, GUIDs (0x...) or LIDs. Between hosts of several adapters,
    each rail is traced.

    Exit 1 if a path ends too soon, 5 if tables or lines that were not read leave that unknown.
    """
    subnet = open_subnet(files)
    say_problems(subnet)
    places = Places(subnet)
    ends = places.find(src), places.find(dst)
    routed = subnet.route(engine) if engine else subnet
    routes = routes_between(routed, *ends, adaptive=adaptive)
    emit(
        format_,
        text=lambda: "\n\n".join(route_text(subnet, route, adaptive) for route in routes),
        record={"routes": [route_record(subnet, route) for route in routes]},
        rows=[row for route in routes for row in hop_rows(subnet, route)],
    )
    return exit_code_of(worst_of(routes))


def worst_of(routes: Sequence[Route]) -> Severity:
    """BAD where a path ends too soon, UNKNOWN where the files do not show whether one does."""
    if any(route.error and not route.is_unknown for route in routes):
        return Severity.BAD
    is_unknown = any(route.is_unknown for route in routes)
    return Severity.UNKNOWN if is_unknown else Severity.GOOD


def route_text(subnet: Subnet, route: Route, adaptive: bool = False) -> str:
    """A sentence about the path, then a line a cable."""
    dst = _place(subnet, route.dst)
    ends = f"{_place(subnet, route.src)} to {dst}"
    error = (route.error or "").replace("\n", "\n  ")
    if route.is_unknown:
        asked = f"whether a path leads from {_place(subnet, route.src)} to {dst}"
        return (
            f"UNKNOWN  {cannot_tell(asked, 'whole files of dump_fts, ibnetdiscover')}.\n  {error}"
        )
    if route.error:
        return f"{ends}: no path.\n  {error}"
    rate = route.slowest_gbps(subnet)
    slowest = f", {rate:g} Gb/s at the slowest" if rate else ""
    count = counted(len(route.hops), "cable")
    taken = f"{count} that packets may take" if adaptive else count
    lines = [f"{ends}: {taken}{slowest}."]
    names = [(subnet.name(*hop.egress), subnet.name(*hop.ingress)) for hop in route.hops]
    width = max((len(name) for name, _ in names), default=0)
    for hop, (out, into) in zip(route.hops, names, strict=True):
        rate_word = subnet.cable_at[hop.egress].a.rate or ""
        lines.append(f"  {out:<{width}}  ->  {into}  {rate_word}".rstrip())
    return "\n".join(lines)


def route_record(subnet: Subnet, route: Route) -> dict[str, Any]:
    """The path as plain JSON values."""
    return {
        "src": subnet.name(route.src.node),
        "src_lid": route.src.lid,
        "dst": subnet.name(route.dst.node),
        "dst_lid": route.dst.lid,
        "error": route.error,
        "hops": hop_rows(subnet, route),
    }


def hop_rows(subnet: Subnet, route: Route) -> list[dict[str, Any]]:
    """A row a cable."""
    return [
        {
            "src_lid": route.src.lid,
            "dst_lid": route.dst.lid,
            "hop": number,
            "egress": subnet.name(hop.egress[0]),
            "egress_port": hop.egress[1],
            "ingress": subnet.name(hop.ingress[0]),
            "ingress_port": hop.ingress[1],
            "rate": subnet.cable_at[hop.egress].a.rate or "",
        }
        for number, hop in enumerate(route.hops, start=1)
    ]


def _place(subnet: Subnet, place: Any) -> str:
    return f"{subnet.name(place.node)} (LID {place.lid})"
