"""The verdict of a check as text: verdict first, evidence, coverage and cost, next command last."""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from weft.check.verdict.earlier_check import summary
from weft.check.verdict.good_nodes import OK, good_columns, some_are_good
from weft.check.verdict.missing_inputs import inputs
from weft.check.verdict.pair_shares import bandwidth_shares
from weft.check.verdict.verdict import Verdict
from weft.check.wording.headline import headline_of
from weft.cli.output import table_text
from weft.core.finding import Severity
from weft.core.units import format_duration

if TYPE_CHECKING:
    from weft.cli.check.answer import CheckAnswer

MATRIX_MAX_NODES = 32
GAP = "   "
"""Between columns of a verdict."""
_COLOURS = {"BAD": "red", "UNKNOWN": "yellow", "WARNING": "yellow", OK: "green"}


def verdict_text(answer: "CheckAnswer", *, matrix: bool, width: int | None = None) -> str:
    """The whole answer, for a terminal of `width` columns (None: lines may be of any length)."""
    verdict = answer.verdict
    good = [one for one in verdict.findings if one.severity is Severity.GOOD]
    # The line of measured pairs stands for the good finding.
    labels = [one.severity.value.upper() for one in verdict.findings if one not in good]
    label_width = max(len(label) for label in (*labels, "BAD")) + 2
    lines = _finding_lines(answer, label_width, width)
    if some_are_good(verdict):
        level = verdict.sensitivity.level_unknown
        columns = (*ok_columns(answer), *([level] if level else []))
        lines += packed(_labelled(OK, label_width), columns, width)
        lines += verdict.sensitivity.lines
        lines += [f"  - {line}" for one in good for line in one.evidence]
    else:
        lines += packed(" " * label_width, ok_columns(answer)[1:], width)
    lines += _past_lines(answer)
    if matrix:
        lines += ["", matrix_text(verdict), ""]
    lines += [f"caveat: {caveat}" for caveat in verdict.caveats]
    lines += [f"to learn more: {inputs()[name].text}" for name in verdict.inputs]
    lines += [f"planted: {one['fault']}; named: {one['named']}" for one in answer.planted]
    if answer.next_step != answer.report:
        lines.append(f"next: {answer.next_step}")
    lines.append(f"report: {answer.page or answer.report}")
    return "\n".join(lines)


def ok_columns(answer: "CheckAnswer") -> tuple[str, str, str]:
    """How many nodes are good, the pairs and cables measured, and the time."""
    took = f"took {format_duration(answer.seconds)}"
    if answer.fabric_time:
        took = f"fabric time {answer.fabric_time}, {took}"
    return *good_columns(answer.verdict), took


def packed(label: str, columns: Sequence[str], width: int | None) -> list[str]:
    """Columns behind a label, as many in a line as fit the width, the others below them."""
    lines, start = [label + columns[0]], " " * len(click.unstyle(label))
    for column in columns[1:]:
        longer = lines[-1] + GAP + column
        if width is None or len(click.unstyle(longer)) <= width:
            lines[-1] = longer
        else:
            lines[-1] = lines[-1].rstrip()
            lines.append(start + column)
    lines[-1] = lines[-1].rstrip()
    return lines


def _labelled(label: str, width: int) -> str:
    padded = label.ljust(width)
    if os.environ.get("NO_COLOR") or not sys.stdout.isatty():
        return padded
    return click.style(label, fg=_COLOURS.get(label), bold=True) + padded[len(label) :]


def _finding_lines(answer: "CheckAnswer", label_width: int, width: int | None) -> list[str]:
    found = zip(answer.verdict.findings, answer.changes, strict=True)
    shown = [
        (finding, headline_of(finding), change)
        for finding, change in found
        if finding.severity is not Severity.GOOD
    ]
    columns = zip(*(headline.columns for _, headline, _ in shown if headline), strict=True)
    widths = [max(len(text) for text in column) for column in columns]
    change_width = max((len(change) + 2 for _, _, change in shown if change), default=0)
    lines: list[str] = []
    for finding, headline, change in shown:
        label = _labelled(finding.severity.value.upper(), label_width)
        label += (change or "").ljust(change_width)
        if headline is None:
            lines.append(label + finding.sentence)
        else:
            padded = [c.ljust(w) for c, w in zip(headline.columns, widths, strict=True)]
            lines += packed(label, padded, width)
        lines += [f"  - {line}" for line in finding.evidence]
        lines += [f"  next: {finding.next_command}"] if finding.next_command else []
    return lines


def _past_lines(answer: "CheckAnswer") -> list[str]:
    """The faults of the earlier run that this one does not have."""
    if answer.against is None:
        return []
    run = answer.against.run
    if not answer.against.past and not any(answer.changes):
        return [f"against {run}: no fault in either run"]
    return [f"{change}: {summary(finding)} in {run}" for change, finding in answer.against.past]


def matrix_text(verdict: Verdict) -> str:
    """Bandwidth from row to column as a share of what the hop class delivers (median)."""
    shares = bandwidth_shares(verdict.survey)
    nodes = sorted({node for pair in shares for node in pair})
    if len(nodes) > MATRIX_MAX_NODES:
        return (
            f"(the matrix of {len(nodes)} nodes does not fit a screen;"
            " --format csv has every reading)"
        )
    texts = {pair: f"{share:.2f}" for pair, share in shares.items()}
    rows = [[a, *(texts.get((a, b), "-") for b in nodes)] for a in nodes]
    return "bandwidth, share of hop class\n" + table_text(["from \\ to", *nodes], rows)
