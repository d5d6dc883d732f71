"""All pairs: heat maps of what each pair reached of what its hop class delivers."""

from collections.abc import Sequence
from statistics import median
from typing import Any

from weft.core.finding import Finding, Severity
from weft.core.units import format_significant, format_size
from weft.core.words import counted
from weft.diagnose.check.norms import Norm
from weft.diagnose.check.readings import METRICS, Metric
from weft.diagnose.check.verdict import Verdict
from weft.report import charts
from weft.report.model import Column, Figure, Section, Table, cut_table

_Row = dict[str, Any]

MAX_NODES = 128
"""More nodes than this make cells nobody can see; the worst nodes are drawn then."""

_HOW = {
    Metric.BANDWIDTH: (
        "Each square is one direction of one pair: its bandwidth as a share of what pairs as many "
        "links apart deliver."
    ),
    Metric.BIDIRECTIONAL: (
        "Each pair has two squares: its bandwidth, both directions together, as a share of what "
        "pairs as many links apart deliver."
    ),
    Metric.LATENCY: (
        "Each pair has two squares: the latency expected of pairs as many links apart, as a share "
        "of the one measured."
    ),
}


_MARKS = (
    "50 % and less look alike; a cross marks one that a suspect slows; an empty square was not "
    "measured or not judged."
)


def section(verdict: Verdict, prefix: str) -> Section:
    """A heat map a metric, the slowest readings behind it, and what each hop class delivers."""
    figures = []
    rows = verdict.rows()
    for metric in METRICS:
        judged = [row for row in rows if row["metric"] == metric.value]
        if judged:
            figures.append(_heat_map(metric, judged, verdict.findings, prefix))
    norms = verdict.survey.normed.norms
    tables = (_norm_table(norms),) if norms else ()
    paragraphs = (f"{verdict.coverage.text}.",)
    return Section("Pairs", paragraphs, figures=tuple(figures), tables=tables)


def suspects_of(finding: Finding) -> tuple[str, ...]:
    """Names of the components a finding suspects."""
    return tuple(str(suspect["name"]) for suspect in finding.facts.get("suspects", ()))


def _heat_map(
    metric: Metric, judged: Sequence[_Row], findings: Sequence[Finding], prefix: str
) -> Figure:
    nodes = sorted({row[end] for row in judged for end in ("from", "to")})
    drawn = _worst_nodes(judged, nodes)
    shown = [row for row in judged if row["from"] in drawn and row["to"] in drawn]
    notes = [_HOW[metric], _MARKS]
    if len(drawn) < len(nodes):
        notes.append(f"Drawn: the {len(drawn)} nodes of {len(nodes)} with the slowest pairs.")
    title = _title(metric, judged, findings)
    return Figure(
        id=f"{prefix}-pairs-{metric.word.replace(' ', '-')}",
        title=title,
        how_to_read=" ".join(notes),
        spec=charts.heat_map(
            _cells(metric, shown),
            [node for node in nodes if node in drawn],
            legend=f"{metric.word}: share of hop class",
            value_title=f"{metric.word} ({metric.unit})",
            description=f"{title}. The table below lists the readings, slowest first.",
        ),
        table=_slowest(metric, judged),
        wide=len(drawn) >= charts.WIDE_FROM,
    )


def _title(metric: Metric, judged: Sequence[_Row], findings: Sequence[Finding]) -> str:
    n_slow = sum(row["mark"] == "slow" for row in judged)
    if n_slow == 0:
        return f"{metric.word}: none of {counted(len(judged), 'reading')} is slow"
    told = f"{metric.word}: {n_slow} of {counted(len(judged), 'reading')} are slow"
    for finding in findings:
        names = suspects_of(finding)
        if finding.severity is Severity.BAD and names:
            return f"{told}; suspect: {' or '.join(names)}"
    return told


def _worst_nodes(judged: Sequence[_Row], nodes: Sequence[str]) -> set[str]:
    if len(nodes) <= MAX_NODES:
        return set(nodes)
    worst = dict.fromkeys(nodes, float("inf"))
    for row in judged:
        if row["share"] is not None:
            for node in (row["from"], row["to"]):
                worst[node] = min(worst[node], row["share"])
    return set(sorted(nodes, key=lambda node: (worst[node], node))[:MAX_NODES])


def _cells(metric: Metric, shown: Sequence[_Row]) -> list[dict[str, Any]]:
    """One square a direction of a pair: the median of its readings."""
    of_pair: dict[tuple[str, str], list[_Row]] = {}
    for row in shown:
        if row["share"] is None:
            continue
        of_pair.setdefault((row["from"], row["to"]), []).append(row)
        if metric.both_ways:
            of_pair.setdefault((row["to"], row["from"]), []).append(row)
    return [
        {
            "source": source,
            "target": target,
            "value": median(row["value"] for row in rows),
            "ratio": median(row["share"] for row in rows),
            "slow": 2 * sum(row["mark"] == "slow" for row in rows) > len(rows),
        }
        for (source, target), rows in of_pair.items()
    ]


def _slowest(metric: Metric, judged: Sequence[_Row]) -> Table:
    def slowest_first(row: _Row) -> tuple[float, str, str]:
        share = row["share"]
        return (float("inf") if share is None else share, row["from"], row["to"])

    columns = (
        Column("from", is_figure=False),
        Column("to", is_figure=False),
        Column("size"),
        Column(f"{metric.word} ({metric.unit})"),
        Column("share of hop class (%)"),
        Column("hop class", is_figure=False),
        Column("measured in", is_figure=False),
        Column("judged", is_figure=False),
    )
    rows = [
        (
            row["from"],
            row["to"],
            format_size(row["size_bytes"]),
            format_significant(row["value"]),
            "-" if row["share"] is None else f"{100 * row['share']:.1f}",
            row["hop_class"] or "-",
            f"{row['trial']}, round {row['round']}",
            row["mark"],
        )
        for row in sorted(judged, key=slowest_first)
    ]
    return cut_table(f"Readings of {metric.word}, slowest first", columns, rows)


def _norm_table(norms: Sequence[Norm]) -> Table:
    columns = (
        Column("hop class", is_figure=False),
        Column("metric", is_figure=False),
        Column("readings"),
        Column("expected"),
        Column("scatter (%)"),
    )
    rows = [
        (
            norm.hop_class.words,
            f"{norm.hop_class.metric.word} ({norm.hop_class.metric.unit})",
            str(norm.n),
            format_significant(norm.expected),
            f"{100 * norm.sigma:.1f}",
        )
        for norm in norms
    ]
    return cut_table(
        "What each hop class delivers, and how far one reading scatters", columns, rows
    )
