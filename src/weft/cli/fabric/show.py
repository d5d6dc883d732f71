"""`weft fabric show FILE...`: the fabric that the files describe."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import click

from weft.cli.fabric.files import open_subnet
from weft.cli.fabric.picture import picture
from weft.cli.fail_on import exit_code_of, fail_on_option
from weft.cli.options import ENGINE, FILE
from weft.cli.output import emit, format_option, table_text, talk, terminal_width
from weft.core.errors import InputError
from weft.core.finding import Severity
from weft.topology.subnet.anomalies import all_cable_anomalies
from weft.topology.subnet.file_facts import file_fact_lines
from weft.topology.subnet.labels import labels_of
from weft.topology.subnet.link_load import Load, load_of
from weft.topology.subnet.subnet import Subnet
from weft.topology.subnet.summary import LevelSummary, SubnetSummary, reading_problems, summarise
from weft.topology.subnet.tiers import tiers_of
from weft.topology.subnet.traffic import traffic_of

MOST_PROBLEMS = 12
ALSO_READ = ("sm_logs", "tree", "insides", "devices", "kept")
"""Parts of the JSON as they were read, in addition to nodes and cables."""


@click.command("show")
@click.argument("files", nargs=-1, required=True)
@click.option(
    "--report",
    type=FILE,
    help="Draw the fabric as one HTML page too: matrices of cables, anomalies first.",
)
@click.option(
    "--load",
    "traffic",
    metavar="TRAFFIC",
    help="Draw the load of all-to-all, shift:K, pairs:FILE, or a collective as"
    " allreduce[:ALGORITHM[:SIZE]].",
)
@click.option(
    "--engine",
    type=ENGINE,
    help="Draw the load under the tables that this engine of OpenSM would compute.",
)
@fail_on_option
@format_option
def command(
    *,
    files: tuple[str, ...],
    report: Path | None,
    traffic: str | None,
    engine: str | None,
    format_: str,
) -> int:
    """Show the fabric of FILES: nodes, switches, cables, rates and taper; a picture of it.

    The picture is a matrix of the cables between two levels: a row a leaf switch, a column a
    switch above it (or a director). `--report` draws it with every name, the terminal small. A
    switch should have the cables that most of its siblings have. A load follows the forwarding
    tables that were read, or those of `--engine`.

    Exit 1 if a cable is missing, or a line was not understood; 5 if no sibling shows a missing one.
    """
    from weft.audit.audit import cable_verdict

    subnet = open_subnet(files)
    load = _load(subnet, traffic, engine)
    summary = summarise(subnet)
    verdict = cable_verdict(subnet)
    problems = reading_problems(subnet.description)
    emit(
        format_,
        text=lambda: show_text(subnet, summary, problems, verdict, load),
        record={
            **summary.to_record(),
            **{kind: subnet.description[kind] for kind in ALSO_READ},
            "sources": subnet.description["sources"],
            "assumed": subnet.description["assumed"],
            "renamed": subnet.description["renamed"],
            "odd": [one.to_record() for one in all_cable_anomalies(subnet, tiers_of(subnet))],
            "load": None if load is None else _load_record(subnet, load),
            "problems": problems,
            "severity": (Severity.BAD if problems else verdict[0]).value,
            "verdict": verdict[1],
        },
        rows=[_cable_row(subnet, index, load) for index in range(len(subnet.cables))],
    )
    if report is not None:
        from weft.report.fabric.page import fabric_page, write_fabric_page

        name = Path(files[0]).name + (f" and {len(files) - 1} more" if len(files) > 1 else "")
        first = headline(summary)
        page = fabric_page(subnet, name=name, headline=first, problems=problems, load=load)
        write_fabric_page(page, report)
        talk(f"written: {report}")
    return exit_code_of(Severity.BAD if problems else verdict[0])


def _load(subnet: Subnet, traffic: str | None, engine: str | None) -> Load | None:
    if traffic is None:
        if engine is not None:
            raise InputError(
                "--engine without --load",
                expected="--load all-to-all, or another traffic, to draw under its tables",
                hint="'weft fabric route' compares engines",
            )
        return None

    routed = subnet.route(engine) if engine else subnet
    return load_of(routed, traffic_of(routed, traffic))


def _load_record(subnet: Subnet, load: Load) -> dict[str, object]:
    return {
        "traffic": load.title,
        "unit": load.unit,
        "directions": [
            {
                "from_level": tier.from_level,
                "to_level": tier.to_level,
                "n_ports": len(tier.shares),
                "least_of_fair_share": min(tier.shares),
                "most_of_fair_share": tier.most,
                "most": load.amount[tier.fullest],
                "fullest_port": subnet.name(*tier.fullest),
            }
            for tier in load.tiers
        ],
    }


def show_text(
    subnet: Subnet,
    summary: SubnetSummary,
    problems: list[str],
    verdict: tuple[Severity, str] = (Severity.GOOD, ""),
    load: Load | None = None,
) -> str:
    """The summary first, then the levels, the picture, the files, the lines without a reader. A
    question that the files leave open is the first line."""
    severity, asked = verdict
    lines = [f"UNKNOWN  {asked}"] if severity is Severity.UNKNOWN else []
    lines += [headline(summary), ""]
    if summary.levels:
        lines += [_level_table(summary.levels), ""]
    if drawn := picture(subnet, terminal_width()):
        lines += [*drawn, ""]
    if load is not None:
        lines += [*_load_lines(subnet, load), ""]
    if found := file_fact_lines(subnet.description):
        lines += [*found, ""]
    for source in subnet.description["sources"]:
        format_ = source["format"] or "no format that weft reads"
        lines.append(f"read  {source['name']}: {format_}, {source['n_lines']} lines")
    lines += [f"assumed  {guess}" for guess in subnet.description["assumed"]]
    lines += [f"names  {sentence}" for sentence in subnet.description["renamed"]]
    if problems:
        lines += ["", f"Unknown or contradictory statements: {len(problems)}"]
        lines += [f"  {problem}" for problem in problems[:MOST_PROBLEMS]]
        if len(problems) > MOST_PROBLEMS:
            lines.append(f"  ... and {len(problems) - MOST_PROBLEMS} more: --format json")
    return "\n".join(lines)


def _load_lines(subnet: Subnet, load: Load) -> list[str]:
    labels = labels_of(subnet)
    rows = [
        [
            tier.words,
            str(len(tier.shares)),
            f"{min(tier.shares):.2f}",
            f"{tier.most:.2f}",
            load.shown(tier.fullest),
            f"{labels[tier.fullest[0]].name}[{tier.fullest[1]}]",
        ]
        for tier in load.tiers
    ]
    title = f"Load of {load.title}, as a multiple of each port's fair share:"
    if not rows:
        return [f"{load.title}: no path crosses a cable between switches."]
    headers = ["direction", "ports", "least", "most", "that is", "fullest port"]
    return [title, *table_text(headers, rows).splitlines()]


def headline(summary: SubnetSummary) -> str:
    """One sentence about the whole."""
    rates = ", ".join(f"{n} {rate}" for rate, n in Counter(summary.rates).most_common())
    tables = f"; forwarding tables of {summary.n_tables} switches" if summary.n_tables else ""
    if not summary.n_adapters + summary.n_switches + summary.n_routers:
        return "No nodes and no cables in these files."
    return (
        f"{summary.n_adapters} adapters on {summary.n_switches} switches, "
        f"{summary.n_cables} cables ({rates or 'none'}){tables}."
    )


def _level_table(levels: tuple[LevelSummary, ...]) -> str:
    def shown(rates: Mapping[str, int]) -> str:
        return ", ".join(f"{n} {rate}" for rate, n in sorted(rates.items())) or "-"

    rows = [
        [
            f"level {level.level}" if level.level < 255 else "reached by no adapter",
            str(level.n_switches),
            shown(level.down),
            shown(level.up),
            f"{level.taper:.2f}:1" if level.taper else "-",
        ]
        for level in levels
    ]
    return table_text(["switches", "number", "cables down", "cables up", "taper"], rows)


def _cable_row(subnet: Subnet, index: int, load: Load | None) -> dict[str, object]:
    cable = subnet.cables[index]
    loads: dict[str, object] = {}
    if load is not None:
        loads = {
            f"load_from_{side}_{load.unit.lower()}": load.amount.get(end.key, "")
            for side, end in (("a", cable.a), ("b", cable.b))
        }
    return {
        "a": subnet.name(cable.a.node),
        "a_port": cable.a.port,
        "b": subnet.name(cable.b.node),
        "b_port": cable.b.port,
        "rate": cable.rate or "",
        "gbps": cable.gbps or "",
        "state": cable.a.logical or "",
        **loads,
    }
