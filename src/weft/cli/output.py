"""The output of a verb: tables an OSU user reads at once, JSON, or CSV; data on stdout only."""

import csv
import io
import json
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO, TypeVar

import click

from weft.core.files import write_whole
from weft.core.finding import Finding
from weft.core.shell_line import UNSHOWN
from weft.launch.secret_text import mask_forms, mask_text

Command = TypeVar("Command", bound=Callable[..., Any])

FORMATS = ("text", "json", "csv")
_COLUMN_GAP = re.compile(r"\S {2,}\S")
_OWN_COLOURS = re.compile(r"(\x1b\[(?:0|1|3[1-3])m|[\t\n])")
"""Red, green, yellow, bold and the end of them, as verdicts have them; tabs and ends of lines."""
BEFORE_OUTPUT: Callable[[], object] = lambda: None  # noqa: E731
"""Takes a bar away that is on the terminal; whoever draws one sets it."""
_LABEL_WIDTH = 9
"""Verdict lines begin with a word and two spaces or more; behind that, gaps are columns."""


def format_option(command: Command) -> Command:
    """Add `--format text|json|csv`, passed on as `format_`."""
    return format_option_of(FORMATS)(command)


def format_option_of(formats: Sequence[str]) -> Callable[[Command], Command]:
    """Add `--format` of these formats, of which the first is the default."""
    return click.option(
        "--format",
        "format_",
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        help="How to print the result on standard output.",
    )


text_or_json = format_option_of(("text", "json"))
"""Add `--format text|json`, of a verb whose result is no table."""


def emit(
    format_: str,
    *,
    text: Callable[[], str],
    record: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Print one result: its text, its whole record as JSON, or its rows as CSV."""
    BEFORE_OUTPUT()
    if format_ == "json":
        click.echo(mask_forms(json.dumps(record, indent=2, allow_nan=False)))
    elif format_ == "csv":
        click.echo(mask_forms(printable(csv_text(rows))), nl=False)
    else:
        shown = mask_forms(printable(text()).rstrip("\n"))
        click.echo(fold_prose(shown, terminal_width()))


def printable(text: str) -> str:
    """The text with what would steer a terminal as escapes: names in files may hold anything.

    The colours of verdicts stay, and so do tabs and ends of lines.
    """
    if UNSHOWN.search(text) is None:
        return text
    parts = _OWN_COLOURS.split(text)
    parts[::2] = (UNSHOWN.sub(_escape, part) for part in parts[::2])
    return "".join(parts)


def _escape(found: re.Match[str]) -> str:
    code = ord(found.group())
    if 0xDC80 <= code <= 0xDCFF:
        # A byte of a file name that is not UTF-8.
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def terminal_width(stream: TextIO | None = None) -> int | None:
    """Columns of the terminal that a stream is (standard output), or None where it is none."""
    stream = stream or sys.stdout
    return shutil.get_terminal_size().columns if stream.isatty() else None


def fold_prose(text: str, width: int | None) -> str:
    """Fold sentences that are wider than the terminal between words; tables stay as they are."""
    if width is None:
        return text
    folded = []
    for line in text.split("\n"):
        indent = " " * (len(line) - len(line.lstrip()) + 4)
        has_columns = _COLUMN_GAP.search(line, pos=min(len(line), _LABEL_WIDTH)) is not None
        is_table = has_columns and not line.startswith("next")
        if len(line) <= width or is_table:
            folded.append(line)
        else:
            folded.extend(
                textwrap.wrap(
                    line,
                    width,
                    subsequent_indent=indent,
                    # A command or a path is worth more whole than folded.
                    break_long_words=False,
                    break_on_hyphens=False,
                )
            )
    return "\n".join(folded)


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


def table_text(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    left: int = 1,
    last: int = 0,
    width: int | None = None,
) -> str:
    """Aligned columns under `headers`: the first `left` and the `last` to the left, figures to the
    right. Two blanks stand between columns, or one where a table would be wider than `width`."""
    cells = [list(headers), *(list(row) for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(headers))]
    is_wide = width is not None and sum(widths) + 2 * (len(widths) - 1) > width
    gap = " " if is_wide else "  "
    lines = []
    for row in cells:
        padded = [
            cell.ljust(of_column) if i < left or i >= len(row) - last else cell.rjust(of_column)
            for i, (cell, of_column) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(gap.join(padded).rstrip())
    return "\n".join(lines)


def finding_lines(finding: Finding) -> list[str]:
    """The severity and the sentence of a finding, then its evidence."""
    head = f"{finding.severity.value.upper()}  {finding.sentence}"
    return [head, *(f"  - {line}" for line in finding.evidence)]


def would_show_lines(would_show: Sequence[str]) -> list[str]:
    """The line of a good answer that names the faults which would have shown."""
    return [f"would show: {'; '.join(would_show)}"] if would_show else []


def write_or_print(out: Path | None, text: str, *, what: str) -> None:
    """Write a text into a file, whole or not at all; without one, print it as it is."""
    BEFORE_OUTPUT()
    if out is None:
        click.echo(printable(text) if sys.stdout.isatty() else text, nl=False)
    else:
        write_whole(out, text, what=what)


def talk(message: str) -> None:
    """Print a message apart from the data: on standard error, without secrets."""
    BEFORE_OUTPUT()
    shown, _ = mask_text(printable(message))
    click.echo(fold_prose(shown, terminal_width(sys.stderr)), err=True)
