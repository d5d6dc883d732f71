"""All pairs: heat maps of what each pair reached of what its hop class delivers."""

from collections.abc import Sequence
from typing import Any

from weft.core.finding import Finding, Severity
from weft.core.units import format_significant, format_size
from weft.diagnose.judged import Judged
from weft.diagnose.readings import Metric
from weft.diagnose.slow import Mark, Norms
from weft.diagnose.verdict import Verdict
from weft.report import charts
from weft.report.model import Column, Figure, Section, Table, cut_table

MAX_NODES = 128
"""More nodes than this make cells nobody can see; the worst nodes are drawn then."""

_HOW = {
    Metric.BANDWIDTH: (
        "Each square is one direction of one pair: its bandwidth as a share of what pairs as many "
        "links apart deliver."
    ),
    Metric.LATENCY: (
        "Each pair has two squares: the latency expected of pairs as many links apart, as a share "
        "of the one measured."
    ),
}


_MARKS = (
    "50 % and less look alike; a cross marks a slow one; an empty square was not measured or not "
    "judged."
)


def section(verdict: Verdict, prefix: str) -> Section:
    """A heat map a metric, the slowest readings behind it, and what each hop class delivers."""
    figures = []
    for metric in (Metric.BANDWIDTH, Metric.LATENCY):
        judged = [one for one in verdict.judged if one.reading.metric is metric]
        if judged:
            figures.append(_heat_map(metric, judged, verdict.findings, prefix))
    tables = (_norm_table(verdict.norms),) if verdict.norms else ()
    paragraphs = (f"{verdict.coverage.text}.",)
    return Section("Pairs", paragraphs, figures=tuple(figures), tables=tables)


def suspects_of(finding: Finding) -> tuple[str, ...]:
    """Names of the components a finding suspects."""
    return tuple(str(suspect["name"]) for suspect in finding.facts.get("suspects", ()))


def _heat_map(
    metric: Metric, judged: Sequence[Judged], findings: Sequence[Finding], prefix: str
) -> Figure:
    nodes = sorted({node for one in judged for node in (one.reading.a, one.reading.b)})
    drawn = _worst_nodes(judged, nodes)
    shown = [one for one in judged if one.reading.a in drawn and one.reading.b in drawn]
    notes = [_HOW[metric], _MARKS]
    if len(drawn) < len(nodes):
        notes.append(f"Drawn: the {len(drawn)} nodes of {len(nodes)} with the slowest pairs.")
    title = _title(metric, judged, findings)
    return Figure(
        id=f"{prefix}-pairs-{metric.word}",
        title=title,
        how_to_read=" ".join(notes),
        spec=charts.heat_map(
            [row for one in shown for row in _rows(one)],
            [node for node in nodes if node in drawn],
            legend=f"{metric.word}: share of hop class",
            value_title=f"{metric.word} ({metric.unit})",
            description=f"{title}. The table below lists the readings, slowest first.",
        ),
        table=_slowest(metric, judged),
        wide=len(drawn) >= charts.WIDE_FROM,
    )


def _title(metric: Metric, judged: Sequence[Judged], findings: Sequence[Finding]) -> str:
    n_slow = sum(one.mark is Mark.SLOW for one in judged)
    what = "directions of pairs" if metric is Metric.BANDWIDTH else "pairs"
    if n_slow == 0:
        return f"{metric.word}: none of {len(judged)} {what} is slow"
    counted = f"{metric.word}: {n_slow} of {len(judged)} {what} are slow"
    for finding in findings:
        names = suspects_of(finding)
        if finding.severity is Severity.BAD and names:
            return f"{counted}; suspect: {' or '.join(names)}"
    return counted


def _share(one: Judged) -> float | None:
    """Speed as a share of what the hop class delivers: under 1 is slower."""
    if one.norm is None:
        return None
    value = one.alone if one.alone is not None else one.reading.value
    expected = one.norm.expected
    return expected / value if one.reading.metric is Metric.LATENCY else value / expected


def _worst_nodes(judged: Sequence[Judged], nodes: Sequence[str]) -> set[str]:
    if len(nodes) <= MAX_NODES:
        return set(nodes)
    worst = dict.fromkeys(nodes, float("inf"))
    for one in judged:
        share = _share(one)
        if share is not None:
            for node in (one.reading.a, one.reading.b):
                worst[node] = min(worst[node], share)
    return set(sorted(nodes, key=lambda node: (worst[node], node))[:MAX_NODES])


def _rows(one: Judged) -> list[dict[str, Any]]:
    share = _share(one)
    if share is None:
        return []
    ends = [(one.reading.a, one.reading.b)]
    if one.reading.metric is Metric.LATENCY:
        ends.append((one.reading.b, one.reading.a))
    return [
        {
            "source": source,
            "target": target,
            "value": one.alone if one.alone is not None else one.reading.value,
            "ratio": share,
            "slow": one.mark is Mark.SLOW,
        }
        for source, target in ends
    ]


def _slowest(metric: Metric, judged: Sequence[Judged]) -> Table:
    def slowest_first(one: Judged) -> tuple[float, str, str]:
        share = _share(one)
        return (float("inf") if share is None else share, one.reading.a, one.reading.b)

    columns = (
        Column("from", is_figure=False),
        Column("to", is_figure=False),
        Column("size"),
        Column(f"{metric.word} ({metric.unit})"),
        Column(f"measured again alone ({metric.unit})"),
        Column("share of hop class (%)"),
        Column("hop class", is_figure=False),
        Column("judged", is_figure=False),
    )
    rows = []
    for one in sorted(judged, key=slowest_first):
        share = _share(one)
        rows.append(
            (
                one.reading.a,
                one.reading.b,
                format_size(one.reading.size_bytes),
                format_significant(one.reading.value),
                "-" if one.alone is None else format_significant(one.alone),
                "-" if share is None else f"{100 * share:.1f}",
                str(one.hop_class),
                one.mark.value,
            )
        )
    return cut_table(f"Readings of {metric.word}, slowest first", columns, rows)


def _norm_table(found: Norms) -> Table:
    columns = (
        Column("hop class", is_figure=False),
        Column("metric", is_figure=False),
        Column("readings"),
        Column("expected"),
        Column("low"),
        Column("high"),
        Column("slow from (% off)"),
    )
    rows = [
        (
            str(norm.hop_class),
            f"{norm.metric.word} ({norm.metric.unit})",
            str(norm.n),
            format_significant(norm.expected),
            format_significant(norm.low),
            format_significant(norm.high),
            f"{100 * norm.limit:.1f}",
        )
        for norm in found.values()
    ]
    return cut_table("What each hop class delivers (95 % of its normal readings)", columns, rows)
