"""All pairs: a heat map of what each pair reached of what its hop class delivers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from weft.bench.model import Sample
from weft.core.finding import Finding, Severity
from weft.core.units import format_significant, format_size
from weft.diagnose.crossing import Crossings, Wiring
from weft.diagnose.hopclass import HopClass, classify
from weft.diagnose.readings import Metric, Reading, readings_of
from weft.diagnose.slow import Mark, Norm, Norms, norms
from weft.diagnose.thresholds import thresholds
from weft.report import charts
from weft.report.model import Column, Figure, Section, Table, cut_table

MAX_NODES = 128
"""More nodes than this make cells nobody can see; the worst nodes are drawn then."""


@dataclass(frozen=True, slots=True)
class _Judged:
    reading: Reading
    hop_class: HopClass
    norm: Norm | None

    @property
    def share(self) -> float | None:
        """Speed as a share of what the hop class delivers: under 1 is slower."""
        return None if self.norm is None else 1 - self.norm.deviation(self.reading.value)

    @property
    def is_slow(self) -> bool:
        return self.norm is not None and self.norm.mark(self.reading.value) is Mark.SLOW


def section(
    samples: Sequence[Sample], wiring: Wiring | None, findings: Sequence[Finding], prefix: str
) -> Section | None:
    """The heat map of bandwidth, the slow pairs and the norms; None without pairs."""
    readings = readings_of(samples)
    if not readings:
        return None
    crossings = Crossings([reading.flow for reading in readings], wiring)
    classes = classify(readings, crossings, wiring)
    found = norms(readings, classes, thresholds())
    judged = [
        _Judged(reading, hop_class, found.get((reading.metric, hop_class)))
        for reading, hop_class in zip(readings, classes, strict=True)
    ]
    bandwidth = [one for one in judged if one.reading.metric is Metric.BANDWIDTH]
    figures = (_heat_map(bandwidth, findings, prefix),) if bandwidth else ()
    tables = (_norm_table(found),) if found else ()
    return Section("Pairs", figures=figures, tables=tables)


def _heat_map(judged: Sequence[_Judged], findings: Sequence[Finding], prefix: str) -> Figure:
    nodes = sorted({node for one in judged for node in (one.reading.a, one.reading.b)})
    drawn = _worst_nodes(judged, nodes)
    rows = [_row(one) for one in judged if one.reading.a in drawn and one.reading.b in drawn]
    notes = [
        "Each square is one direction of one pair, coloured by its bandwidth as a share of what "
        "pairs as many links apart deliver; a cross marks a slow one. "
        "An empty square was not measured or has too few like it to be judged."
    ]
    if len(drawn) < len(nodes):
        notes.append(f"Drawn: the {len(drawn)} nodes of {len(nodes)} with the slowest pairs.")
    title = _title(judged, findings)
    return Figure(
        id=f"{prefix}-pairs",
        title=title,
        how_to_read=" ".join(notes),
        spec=charts.heat_map(
            rows,
            [node for node in nodes if node in drawn],
            legend="bandwidth, share of hop class",
            description=f"{title}. The table below holds the slowest pairs.",
        ),
        table=_slowest(judged),
        wide=True,
    )


def _title(judged: Sequence[_Judged], findings: Sequence[Finding]) -> str:
    n_slow = sum(one.is_slow for one in judged)
    if n_slow == 0:
        return f"No direction of {len(judged)} is slow within its hop class"
    counted = f"{n_slow} of {len(judged)} directions are slow"
    for finding in findings:
        component = finding.facts.get("component")
        if finding.severity is Severity.BAD and isinstance(component, str):
            return f"{counted}: {component}"
    return counted


def _worst_nodes(judged: Sequence[_Judged], nodes: Sequence[str]) -> set[str]:
    if len(nodes) <= MAX_NODES:
        return set(nodes)
    worst = dict.fromkeys(nodes, float("inf"))
    for one in judged:
        share = one.share
        if share is not None:
            for node in (one.reading.a, one.reading.b):
                worst[node] = min(worst[node], share)
    return set(sorted(nodes, key=lambda node: (worst[node], node))[:MAX_NODES])


def _row(one: _Judged) -> dict[str, Any]:
    return {
        "source": one.reading.a,
        "target": one.reading.b,
        "bandwidth": one.reading.value,
        "ratio": one.share,
        "slow": one.is_slow,
    }


def _slowest(judged: Sequence[_Judged]) -> Table:
    ordered = sorted(
        judged, key=lambda one: (one.share if one.share is not None else 2.0, one.reading.key)
    )
    columns = (
        Column("from", is_figure=False),
        Column("to", is_figure=False),
        Column("size"),
        Column("bandwidth (MB/s)"),
        Column("share of hop class (%)"),
        Column("hop class", is_figure=False),
        Column("judged", is_figure=False),
    )
    rows = [
        (
            one.reading.a,
            one.reading.b,
            format_size(one.reading.size_bytes),
            format_significant(one.reading.value),
            "-" if one.share is None else f"{100 * one.share:.1f}",
            str(one.hop_class),
            "slow" if one.is_slow else ("-" if one.norm is None else "not slow"),
        )
        for one in ordered
    ]
    return cut_table("Directions of pairs, slowest first", columns, rows)


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
