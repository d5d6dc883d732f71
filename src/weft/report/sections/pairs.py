"""All pairs: each as a share of its hop class's figure, nodes by leaf, and rail by rail."""

from collections.abc import Iterator, Sequence

from weft.check.readings.components import Part
from weft.check.readings.norms import Norm
from weft.check.readings.readings import METRICS, Metric
from weft.check.verdict.pair_shares import (
    Endpoints,
    PairShares,
    count_of,
    endpoints_of,
    shares_of,
    slowest_rows,
)
from weft.check.verdict.verdict import Verdict
from weft.check.wording.headline import headline_of, suspects_of
from weft.check.wording.reading_rows import rows_of
from weft.core.finding import Finding, Severity
from weft.core.units import format_significant, format_size
from weft.core.words import counted
from weft.report import heat_svg
from weft.report.model import MAX_TABLE_ROWS, ReportDrawing, ReportTable, Section, cut_table

MAX_NODES = 512
"""More nodes than this make cells below two pixels; the worst nodes are drawn then."""
MAX_RAILS = 8
"""So many rails are drawn one by one."""
RAIL_ROOM = 560.0
"""Pixels for the matrix of one rail, and for one in which nothing is slow."""

_HOW = {
    Metric.BANDWIDTH: (
        "Each square is one direction of one pair, from the row to the column: its bandwidth as a "
        "share of what pairs as many links apart deliver."
    ),
    Metric.BIDIRECTIONAL: (
        "Each pair has two squares: its bandwidth, both directions together, as a share of what "
        "pairs as many links apart deliver."
    ),
    Metric.BUSBW: (
        "Each pair has two squares: the bus bandwidth of a collective of its GPUs, as a share of "
        "what other pairs deliver."
    ),
    Metric.LATENCY: (
        "Each pair has two squares: the latency expected of pairs as many links apart, as a share "
        "of the one measured."
    ),
}


def section(verdict: Verdict, prefix: str) -> Section:
    """A matrix a metric, of bandwidth one a rail, too; the slowest readings behind each, and what
    each hop class delivers."""
    survey = verdict.survey
    ends = endpoints_of(survey)
    drawings = [
        drawing
        for metric in METRICS
        if (survey.readings.metric == metric.code).any()
        for drawing in _of_metric(verdict, metric, ends, prefix)
    ]
    norms = survey.normed.norms
    tables = (_norm_table(norms),) if norms else ()
    paragraphs = (f"{verdict.coverage.text}.",)
    return Section("Pairs", paragraphs, tables=tables, drawings=tuple(drawings))


def _of_metric(
    verdict: Verdict, metric: Metric, ends: Endpoints, prefix: str
) -> Iterator[ReportDrawing]:
    bold = _accused(verdict.findings)
    id_ = f"{prefix}-pairs-{metric.word.replace(' ', '-')}"
    shares, notes = _worst_nodes(shares_of(verdict.survey, metric, ends, None))
    how = [_HOW[metric], _order(shares)]
    if ends.n_rails > 1:
        how.append(f"Of the {ends.n_rails} rails of a pair, the worst is drawn.")
    title = _title(verdict, metric)
    room = heat_svg.ROOM if shares.slow.any() else RAIL_ROOM
    yield ReportDrawing(
        title=title,
        how_to_read=" ".join([*how, *notes]),
        svg=heat_svg.draw(shares, bold, title=title, id_=id_, room=room),
        legend=heat_svg.legend(),
        table=_slowest(verdict, metric),
    )
    if metric is Metric.BANDWIDTH and ends.n_rails > 1:
        for rail in range(min(ends.n_rails, MAX_RAILS)):
            yield _of_rail(verdict, ends, rail, id_, bold)


def _of_rail(
    verdict: Verdict, ends: Endpoints, rail: int, id_: str, bold: frozenset[str]
) -> ReportDrawing:
    shares, notes = _worst_nodes(shares_of(verdict.survey, Metric.BANDWIDTH, ends, rail))
    n_slow = int(shares.slow.sum())
    slow = f"{counted(n_slow, 'direction')} of pairs slow" if n_slow else "no pair is slow"
    title = f"rail {rail}: {slow}"
    if rail == MAX_RAILS - 1 and ends.n_rails > MAX_RAILS:
        notes = (*notes, f"The other {ends.n_rails - MAX_RAILS} rails are not drawn.")
    drawn = heat_svg.draw(shares, bold, title=title, id_=f"{id_}-{rail}", room=RAIL_ROOM)
    how = f"Bandwidth of this rail alone. {_order(shares)}"
    return ReportDrawing(title, " ".join([how, *notes]), drawn, narrow=True)


def _order(shares: PairShares) -> str:
    if not any(shares.leaves):
        return "Nodes stand by name."
    return "Nodes stand by their leaf switch; lines part the leaves where there is room."


def _worst_nodes(shares: PairShares) -> tuple[PairShares, tuple[str, ...]]:
    """At most MAX_NODES of them, those with the slowest pairs, in their order."""
    n = len(shares.names)
    if n <= MAX_NODES:
        return shares, ()
    return shares.worst(MAX_NODES), (
        f"Drawn: the {MAX_NODES} nodes of {n} with the slowest pairs.",
    )


def _accused(findings: Sequence[Finding]) -> frozenset[str]:
    """Nodes that stand out: those that bad findings name."""
    bad = (one for one in findings if one.severity is Severity.BAD)
    suspects = (suspect for one in bad for suspect in suspects_of(one))
    names = (
        suspect.component.ends[0] if suspect.component.part is Part.RANK else suspect.node
        for suspect in suspects
    )
    return frozenset(name for name in names if name is not None)


def _title(verdict: Verdict, metric: Metric) -> str:
    count = count_of(verdict.survey, metric)
    n = counted(count.n, "reading")
    if not count.is_judged:
        return f"{metric.word}: {n}, not judged"
    if count.n_slow == 0:
        return f"{metric.word}: none of {n} is slow"
    title = f"{metric.word}: {count.n_slow} of {n} are slow"
    for finding in verdict.findings:
        headline = headline_of(finding)
        if finding.severity is Severity.BAD and headline is not None:
            return f"{title}; suspect: {headline.name}"
    return title


def _slowest(verdict: Verdict, metric: Metric) -> ReportTable:
    figures = ("#size", f"#{metric.word} ({metric.unit})", "#share of hop class (%)")
    columns = ("from", "to", *figures, "hop class", "measured in", "judged")
    survey = verdict.survey
    rows = tuple(
        (
            str(row["from"]),
            str(row["to"]),
            format_size(row["size_bytes"]),
            format_significant(row["value"]),
            "-" if row["share"] is None else f"{100 * row['share']:.1f}",
            row["hop_class"] or "-",
            f"{row['trial']}, round {row['round']}",
            str(row["mark"]),
        )
        for row in rows_of(survey, slowest_rows(survey, metric, MAX_TABLE_ROWS))
    )
    caption = f"Readings of {metric.word}, slowest first"
    return cut_table(caption, columns, rows, count_of(survey, metric).n)


def _norm_table(norms: Sequence[Norm]) -> ReportTable:
    columns = ("hop class", "metric", "#readings", "#expected", "#scatter (%)")
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
    return cut_table("Normal figure of each hop class, and scatter of one reading", columns, rows)
