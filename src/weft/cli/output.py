"""What a verb prints: text tables an OSU user reads at once, JSON, or CSV; data on stdout only."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

FORMATS = ("text", "json", "csv")


def format_option(command: Command) -> Command:
    """Add `--format text|json|csv`, passed on as `format_`."""
    option = click.option(
        "--format",
        "format_",
        type=click.Choice(FORMATS),
        default="text",
        show_default=True,
        help="How to print the result on standard output.",
    )
    return option(command)


def emit(
    format_: str,
    *,
    text: Callable[[], str],
    record: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
) -> None:
    """Print one result: its text, its whole record as JSON, or its rows as CSV."""
    if format_ == "json":
        click.echo(json.dumps(record, indent=2, allow_nan=False))
    elif format_ == "csv":
        click.echo(csv_text(rows), nl=False)
    else:
        click.echo(text().rstrip("\n"))


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """RFC 4180 lines under one header: the union of all keys, in order of first appearance."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    if not columns:
        return ""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def table_text(headers: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Aligned columns under `headers`: the first `left` to the left, figures to the right."""
    cells = [list(headers), *(list(row) for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(headers))]
    lines = []
    for row in cells:
        padded = [
            cell.ljust(width) if i < left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def talk(message: str) -> None:
    """Say something beside the data: on standard error."""
    click.echo(message, err=True)
