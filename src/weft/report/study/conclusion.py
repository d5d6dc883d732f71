"""Sections of a study's page: the matrix, where it helps, anomalies, threats to validity."""

from collections.abc import Sequence

from weft.core.finding import Finding
from weft.core.units import format_size
from weft.report.model import Section, cut_table
from weft.report.study import speed_up, verdict_map
from weft.study.comparison.comparison import Comparison
from weft.study.comparison.conclusion.anomalies import AnomalyFacts

THREATS = "Threats to validity"


def matrix(comparison: Comparison, prefix: str) -> Section | None:
    """The map of verdicts; None for cells of one scale."""
    drawn = verdict_map.drawings(comparison, prefix)
    return Section("Verdicts over the matrix", drawings=drawn) if drawn else None


def curves(comparison: Comparison, prefix: str) -> Section | None:
    """The speed-up curves; None for cells of one scale."""
    drawn = speed_up.figures(comparison, prefix)
    return Section("Speed-up by ranks a node", figures=drawn) if drawn else None


def onsets(comparison: Comparison) -> Section | None:
    """Where effects begin and end; None where none does inside the matrix."""
    shown = [one for one in comparison.onsets if one.range_.is_partial]
    if not shown:
        return None
    rows = [(str(one.range_.axis), one.second, one.where, one.range_.text) for one in shown]
    text = (
        "An end lies between the last value at which a verdict rules the effect out and the first "
        "at which a verdict finds it. Over the whole matrix, 5 of 100 studies at most find an "
        "effect where there is none, and 5 at most call one of the margin or more equal."
    )
    table = cut_table("Ends of effects along each axis", ("along", "arm", "where", "effect"), rows)
    if table.is_long:
        return Section("Where it helps and hurts", (text,), folded=(table,))
    return Section("Where it helps and hurts", (text,), tables=(table,))


def anomalies(findings: Sequence[Finding]) -> Section | None:
    """The launches that lie far off the others; None where none does."""
    known = [one.facts for one in findings if isinstance(one.facts, AnomalyFacts)]
    if not known:
        return None
    rows = [
        (
            ", ".join(
                [
                    f"{one.benchmark} with {one.arm}",
                    *([one.condition] if one.condition else []),
                    f"set {one.node_set}, repeat {one.repeat}",
                ]
            ),
            one.nodes,
            ", ".join(format_size(size) for size in one.sizes_bytes if size) or "-",
            f"{max(one.ratios, key=lambda ratio: max(ratio, 1 / ratio)):.2f}x",
            str(one.n_others),
            _changes(one),
        )
        for one in known
    ]
    columns = ("launch", "nodes", "sizes", "#farthest", "#others", "verdicts without it")
    text = (
        "A launch is an anomaly if it lies farther from the others of its cell than one launch of "
        "any cell does in 5 of 100 studies, for launches that scatter log-normally, and by the "
        "margin or more. It stays in all figures above."
    )
    caption = "Launches that lie off the median of the others"
    return Section("Anomalies", (text,), tables=(cut_table(caption, columns, rows),))


def _changes(facts: AnomalyFacts) -> str:
    if facts.changes is None:
        return "not tried"
    return "\n".join(facts.changes) or "stay"


def threats(comparison: Comparison, caveats: Sequence[str]) -> Section:
    """What weakens the verdicts: threats in the data, and the caveats of the run."""
    rows = [(sentence,) for sentence in dict.fromkeys((*comparison.threats, *caveats))]
    table = cut_table("What weakens these verdicts, from the data of this run", ("threat",), rows)
    return Section(THREATS, tables=(table,))
