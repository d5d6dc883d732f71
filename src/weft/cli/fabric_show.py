"""`weft fabric show FILE...`: what the files describe."""

from typing import TYPE_CHECKING

import click

from weft.cli.fabric_files import open_subnet
from weft.cli.output import emit, format_option, table_text

if TYPE_CHECKING:
    from weft.topology.subnet import Subnet
    from weft.topology.summary import LevelSummary, Summary

MOST_PROBLEMS = 12


@click.command("show")
@click.argument("files", nargs=-1, required=True)
@format_option
def command(files: tuple[str, ...], format_: str) -> None:
    """What FILES describe: nodes, switches, cables, rates and taper."""
    from weft.core.errors import ExitCode
    from weft.topology.summary import reading_problems, summarise

    subnet = open_subnet(files)
    summary = summarise(subnet)
    problems = reading_problems(subnet.description)
    emit(
        format_,
        text=lambda: show_text(subnet, summary, problems),
        record={
            **summary.to_record(),
            "sources": subnet.description["sources"],
            "problems": problems,
        },
        rows=[_cable_row(subnet, index) for index in range(len(subnet.cables))],
    )
    if problems:
        raise SystemExit(int(ExitCode.VERDICT_BAD))


def show_text(subnet: "Subnet", summary: "Summary", problems: list[str]) -> str:
    """The summary first, then the levels, what was read, and what was not understood."""
    lines = [headline(summary), ""]
    if summary.levels:
        lines += [_level_table(summary.levels), ""]
    lines += [_source_line(source) for source in subnet.description["sources"]]
    if problems:
        lines += ["", f"Not understood or not fitting together: {len(problems)}"]
        lines += [f"  {problem}" for problem in problems[:MOST_PROBLEMS]]
        if len(problems) > MOST_PROBLEMS:
            lines.append(f"  ... and {len(problems) - MOST_PROBLEMS} more: --format json")
    return "\n".join(lines)


def headline(summary: "Summary") -> str:
    """One sentence about the whole."""
    rates = ", ".join(f"{n} {rate}" for rate, n in summary.rates.most_common())
    tables = f"; forwarding tables of {summary.n_tables} switches" if summary.n_tables else ""
    return (
        f"{summary.n_adapters} adapters on {summary.n_switches} switches, "
        f"{summary.n_cables} cables ({rates or 'none'}){tables}."
    )


def _level_table(levels: "tuple[LevelSummary, ...]") -> str:
    def shown(rates: "dict[str, int]") -> str:
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


def _source_line(source: "dict[str, object]") -> str:
    format_ = source["format"] or "no format that weft reads"
    return f"read  {source['name']}: {format_}, {source['n_lines']} lines"


def _cable_row(subnet: "Subnet", index: int) -> dict[str, object]:
    cable = subnet.cables[index]
    return {
        "a": subnet.name(cable.a.node),
        "a_port": cable.a.port,
        "b": subnet.name(cable.b.node),
        "b_port": cable.b.port,
        "rate": cable.a.rate or cable.b.rate or "",
        "gbps": cable.a.gbps or cable.b.gbps or "",
        "state": cable.a.logical or "",
    }
