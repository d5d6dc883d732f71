"""The verdict of a check as text: verdict first, evidence, coverage and cost, next command last."""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from weft.check.verdict.lost_hosts import lost_node, n_unmeasured
from weft.core.finding import Severity
from weft.core.units import format_duration

if TYPE_CHECKING:
    from weft.check.verdict.verdict import Verdict
    from weft.check.wording.headline import Headline
    from weft.cli.check.answer import Answer
    from weft.core.finding import Finding

MATRIX_MAX_NODES = 32
GAP = "   "
"""Between columns of a verdict."""
OK = "OK"
_COLOURS = {"BAD": "red", "WARNING": "yellow", OK: "green"}


def verdict_text(answer: "Answer", *, matrix: bool, width: int | None = None) -> str:
    """The whole answer, for a terminal of `width` columns (None: lines may be of any length)."""
    from weft.check.verdict.missing_inputs import inputs

    verdict = answer.verdict
    labels = [one.severity.value.upper() for one in _told(verdict)]
    label_width = max(len(label) for label in (*labels, "BAD")) + 2
    lines = _finding_lines(answer, label_width, width)
    if _some_are_well(verdict):
        lines += packed(_labelled(OK, label_width), ok_columns(answer), width)
        lines += [f"  - {line}" for line in _healthy_evidence(verdict)]
    else:
        lines += packed(" " * label_width, ok_columns(answer)[1:], width)
    lines += _gone(answer)
    if matrix:
        lines += ["", matrix_text(verdict), ""]
    lines += [f"caveat: {caveat}" for caveat in verdict.caveats]
    lines += [f"more with: {inputs()[name].text}" for name in verdict.inputs]
    lines += [f"planted: {one['fault']}; named: {one['named']}" for one in answer.planted]
    if answer.next_step != answer.report:
        lines.append(f"next: {answer.next_step}")
    lines.append(f"report: {answer.page or answer.report}")
    return "\n".join(lines)


def _some_are_well(verdict: "Verdict") -> bool:
    """Whether anything is judged, and nothing that is bad is bad of all nodes."""
    judged = bool(verdict.survey.normed.norms) and not verdict.refused
    some_are_not_bad = len(bad_nodes(verdict)) < n_nodes(verdict)
    return judged and some_are_not_bad and not _all_pairs_are_bad(verdict)


def _all_pairs_are_bad(verdict: "Verdict") -> bool:
    """Whether each pair is of a hop class that is bad as a whole, or nobody knows which are."""
    import numpy as np

    from weft.check.readings.norms import hop_classes

    bad = [
        one.facts
        for one in verdict.findings
        if one.severity is Severity.BAD and lost_node(one) is None
    ]
    of_all = [facts for facts in bad if not (facts.get("suspects") or facts.get("pairs"))]
    if any("hop_classes" not in facts for facts in of_all):
        return True
    kinds = {(facts["metric"], words) for facts in of_all for words in facts["hop_classes"]}
    classes, place = hop_classes(verdict.survey.crossings)
    such = [number for number, c in enumerate(classes) if (c.metric.value, c.words) in kinds]
    pair = verdict.survey.readings.pair
    return set(pair[np.isin(place, such)].tolist()) == set(pair.tolist())


def ok_columns(answer: "Answer") -> tuple[str, str, str]:
    """How many are not accused, what was measured of them, what that took."""
    coverage = answer.verdict.coverage
    n_all = n_nodes(answer.verdict)
    n_good = n_all - len(bad_nodes(answer.verdict))
    good = f"{n_good:,} of {n_all:,} {coverage.endpoints}"
    pairs = f"pairs {coverage.n_pairs:,} of {coverage.n_pairs_possible:,} measured, "
    took = f"took {format_duration(answer.seconds)}"
    if answer.fabric_time:
        took = f"fabric time {answer.fabric_time}, {took}"
    return good, pairs + coverage.cables_text, took


def n_nodes(verdict: "Verdict") -> int:
    """How many there were to measure: those measured, and those that were gone before."""
    return verdict.coverage.n_nodes + n_unmeasured(verdict.findings)


def bad_nodes(verdict: "Verdict") -> set[str]:
    """Nodes that are gone, are accused, or hold an end of what is: of a slow pair, where no
    component is. Ranks, where one host holds them all."""
    ranks = verdict.coverage.endpoints == "ranks"
    nodes: set[str] = set()
    for finding in verdict.findings:
        if finding.severity is not Severity.BAD:
            continue
        lost = lost_node(finding)
        if lost is not None:
            nodes.add(lost)
        suspects = finding.facts.get("suspects", ())
        pairs = () if suspects else finding.facts.get("pairs", ())
        ends = {end for pair in pairs for end in pair}
        ends |= {one["ends"][0] if ranks else one["node"] for one in suspects} - {None}
        nodes |= ends if ranks else {end.partition(":")[0] for end in ends}
    return nodes


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


def _told(verdict: "Verdict") -> "list[Finding]":
    """All but the sentence that all is well, which the line of what was measured says."""
    return [one for one in verdict.findings if one.severity is not Severity.GOOD]


def _labelled(label: str, width: int) -> str:
    padded = label.ljust(width)
    if os.environ.get("NO_COLOR") or not sys.stdout.isatty():
        return padded
    return click.style(label, fg=_COLOURS.get(label), bold=True) + padded[len(label) :]


def _finding_lines(answer: "Answer", label_width: int, width: int | None) -> list[str]:
    from weft.check.wording.headline import headline_of

    found = zip(answer.verdict.findings, answer.changes, strict=True)
    told = [
        (finding, headline_of(finding), change)
        for finding, change in found
        if finding.severity is not Severity.GOOD
    ]
    widths = _widths([headline for _, headline, _ in told if headline is not None])
    change_width = max((len(change) + 2 for _, _, change in told if change), default=0)
    lines: list[str] = []
    for finding, headline, change in told:
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


def _gone(answer: "Answer") -> list[str]:
    """What the earlier run accused and this one does not."""
    from weft.check.verdict.earlier_check import told

    if answer.against is None:
        return []
    run = answer.against.run
    if not answer.against.gone and not any(answer.changes):
        return [f"against {run}: nothing is accused, then or now"]
    return [f"{change}: {told(finding)} in {run}" for change, finding in answer.against.gone]


def _widths(headlines: "Sequence[Headline]") -> list[int]:
    columns = zip(*(headline.columns for headline in headlines), strict=True)
    return [max(len(text) for text in column) for column in columns]


def _healthy_evidence(verdict: "Verdict") -> list[str]:
    good = [one for one in verdict.findings if one.severity is Severity.GOOD]
    return [line for one in good for line in one.evidence]


def matrix_text(verdict: "Verdict") -> str:
    """Bandwidth from row to column as a share of what the hop class delivers (median)."""
    from statistics import median

    from weft.check.readings.readings import Metric
    from weft.cli.output import table_text

    shares: dict[tuple[str, str], list[float]] = {}
    for row in verdict.rows():
        if row["metric"] == Metric.BANDWIDTH.value and row["share"] is not None:
            shares.setdefault((row["from"], row["to"]), []).append(row["share"])
    nodes = sorted({node for pair in shares for node in pair})
    if len(nodes) > MATRIX_MAX_NODES:
        return (
            f"(the matrix of {len(nodes)} nodes does not fit a screen;"
            " --format csv has every reading)"
        )
    middle = {pair: median(values) for pair, values in shares.items()}
    rows = [[a, *(_cell(middle.get((a, b))) for b in nodes)] for a in nodes]
    return "bandwidth, share of hop class\n" + table_text(["from \\ to", *nodes], rows)


def _cell(share: float | None) -> str:
    return "-" if share is None else f"{share:.2f}"
