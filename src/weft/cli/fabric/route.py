"""`weft fabric route FILE...`: routing engines compared on the same cables."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from weft.cli.fabric.files import open_subnet, say_problems
from weft.cli.options import ENGINE
from weft.cli.output import emit, format_option, table_text, talk
from weft.core.errors import InputError
from weft.core.work.progress import each
from weft.topology.engine import ENGINES
from weft.topology.subnet.subnet import Subnet, is_parsed_at_once

if TYPE_CHECKING:
    from weft.topology.subnet.routing_report import RoutingReport

AS_READ = "as read"
ENGINE_S = 1.2
"""Seconds of an engine for 8,008 nodes, as READ_S (measured)."""


@click.command("route")
@click.argument("files", nargs=-1, required=True)
@click.option(
    "--engine",
    "engines",
    multiple=True,
    type=ENGINE,
    help="An engine to compute, as OpenSM would; several times for several. Default: all.",
)
@click.option(
    "--matchings",
    type=click.IntRange(2, 100_000),
    default=100,
    show_default=True,
    help="Random halves for the effective bisection bandwidth.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@format_option
def command(
    *, files: tuple[str, ...], engines: tuple[str, ...], matchings: int, seed: int, format_: str
) -> None:
    """Compare what routing engines do with the fabric of FILES.

    weft compares tables that it read with those that OpenSM's engines would compute. It prints
    lengths of paths, load of the cables when all send to all and in shifts, valleys, credit loops,
    and effective bisection bandwidth (Hoefler, 2008) with its interval. CSV is one row a cable.
    """
    from weft.topology.subnet.routing_report import routing_report

    chosen = engines or ENGINES
    # Whether there are tables is known later: a document of weft has some, dumps are files besides.
    as_read = int(is_parsed_at_once(files) or len(files) > 1)
    subnet = open_subnet(files, then_s=ENGINE_S * (as_read + len(chosen)))
    say_problems(subnet)
    if not subnet.endports:
        raise InputError(
            "no adapter in these files has a LID and a cable",
            expected="cables and LIDs: ibnetdiscover, iblinkinfo or opensm-subnet.lst",
        )
    # An engine that refuses this fabric takes no time: then the others' tables are left.
    routed = list(_routed(subnet, chosen))
    reports = [
        routing_report(tables, engine, seed=seed, matchings=matchings)
        for engine, tables in each(routed, "judging tables", unit="engine")
    ]
    emit(
        format_,
        text=lambda: route_text(subnet, reports),
        record={"engines": [report.to_record(subnet) for report in reports]},
        rows=[row for report in reports for row in _load_rows(subnet, report)],
    )


def _routed(subnet: Subnet, engines: Sequence[str]) -> Iterator[tuple[str, Subnet]]:
    """The tables that were read, and those of each engine that has some for these cables."""
    if subnet.has_tables:
        yield AS_READ, subnet
    for engine in engines:
        try:
            yield engine, subnet.route(engine)
        except InputError as error:
            talk(f"weft: {error.describe()}")


def route_text(subnet: Subnet, reports: "list[RoutingReport]") -> str:
    """A table of engines, then what each does to the cables of each tier."""
    if not reports:
        return "No engine has tables for this fabric."
    lengths = sorted({length for report in reports for length in report.hops})
    headers = ["engine", "no path", *(f"{n} cables" for n in lengths), "valleys", "credit loop"]
    headers += ["worst shift", "bisection (95 %)"]
    table = table_text(headers, [_row(report, lengths) for report in reports])
    lines = [_verdict(reports), *_same_loads(reports), "", table, "", *_tier_lines(subnet, reports)]
    for report in reports:
        if report.credit_loop is not None:
            names = [subnet.name(*end) for end, _ in report.credit_loop.channels]
            lines += ["", f"{report.engine}: credit loop over {' -> '.join([*names, names[0]])}"]
    return "\n".join(lines)


def _verdict(reports: "list[RoutingReport]") -> str:
    """The safe tables, and those among them that serve a full machine best."""
    safe = [report for report in reports if report.credit_loop is None and not report.n_unreachable]
    if not safe:
        return "None of these tables is free of credit loops with a path for every pair."
    best = max(safe, key=lambda report: report.bisection.share if report.bisection else 0.0)
    ties = [
        report.engine
        for report in safe
        if report.bisection and best.bisection and report.bisection.high >= best.bisection.low
    ]
    unsafe = [report.engine for report in reports if report not in safe]
    sentence = f"Best effective bisection bandwidth: {best.engine}"
    if best.bisection is not None:
        sentence += f", {best.bisection.share:.1%} of the hosts' rate"
    if best.bisection is not None and len(ties) > 1:
        others = ", ".join(name for name in ties if name != best.engine)
        sentence += f" ({others}: {best.bisection.n_matchings} matchings show no difference)"
    if unsafe:
        sentence += f". Not safe: {', '.join(unsafe)}"
    return sentence + "."


def _same_loads(reports: "list[RoutingReport]") -> list[str]:
    """The engines that seem to have made the tables that were read."""
    read = [report for report in reports if report.engine == AS_READ]
    same = [
        report.engine
        for report in reports
        if read and report.engine != AS_READ and report.loads == read[0].loads
    ]
    if not same:
        return []
    return [f"The tables that were read load every cable as those of {' and '.join(same)} do."]


def _row(report: "RoutingReport", lengths: list[int]) -> list[str]:
    shares = report.bisection
    return [
        report.engine,
        str(report.n_unreachable),
        *(str(report.hops.get(length, 0)) for length in lengths),
        str(report.n_valley_paths),
        "YES" if report.credit_loop else "none",
        f"{report.shifts.most_paths}" if report.shifts else "-",
        f"{shares.share:.1%} ({shares.low:.1%} to {shares.high:.1%})" if shares else "-",
    ]


def _tier_lines(subnet: Subnet, reports: "list[RoutingReport]") -> list[str]:
    rows = [
        [
            report.engine,
            f"level {tier.from_level} to {tier.to_level}",
            subnet.name(*tier.fullest),
            str(tier.n_ports),
            str(tier.least_paths),
            f"{tier.mean_paths:.1f}",
            str(tier.most_paths),
            f"{tier.imbalance:.2f}",
        ]
        for report in reports
        for tier in report.tiers
    ]
    if not rows:
        return ["No cables between switches."]
    headers = ["all to all", "ports", "fullest", "number", "least", "mean", "most", "most/mean"]
    return [table_text(headers, rows, left=3)]


def _load_rows(subnet: Subnet, report: "RoutingReport") -> list[dict[str, Any]]:
    return [
        {
            "engine": report.engine,
            "switch": subnet.name(node),
            "port": port,
            "paths": n_paths,
        }
        for (node, port), n_paths in report.loads
    ]
