"""Threats to validity: what weakens the verdicts of a study, as its own data show it."""

from collections.abc import Sequence

from weft.core.finding import Finding
from weft.core.words import counted
from weft.stats.nodesets import CannotBeKnown
from weft.stats.power import POWER
from weft.study.comparison.cells import Cells, n_repeats_of
from weft.study.comparison.conclusion.anomalies import changed_verdicts
from weft.study.comparison.effects import percent
from weft.study.comparison.replication import Unit
from weft.study.comparison.rows import ComparisonRow
from weft.study.comparison.sensitivity import Overturned
from weft.study.comparison.verdicts import DriftFacts
from weft.study.run.backend_record import backend_of
from weft.study.run.store import StudyRun

_ONE_SITTING_H = 24


def threats_of(
    run: StudyRun,
    cells: Cells,
    rows: Sequence[ComparisonRow],
    findings: Sequence[Finding],
    *,
    interleaved: bool,
    overturned: Overturned,
) -> tuple[str, ...]:
    """Sentences, those first that no further launch of the same kind can remove."""
    is_twin = backend_of(run).is_twin
    found = [
        _not_interleaved(interleaved),
        _of_sets(rows),
        _of_repeats(rows, run, is_twin=is_twin),
        _untreated(cells, run),
        _lost(run),
        *_drift(findings, is_twin=is_twin),
        _one_sitting(cells, is_twin=is_twin),
        _one_fabric(run, is_twin=is_twin),
        _on_one_launch(findings),
        constants_clause(overturned, rows),
        power_clause(rows),
    ]
    return tuple(threat for threat in found if threat)


def _not_interleaved(interleaved: bool) -> str:
    if interleaved:
        return ""
    return "The arms were not interleaved: any change of the machine between them is an effect."


def _of_sets(rows: Sequence[ComparisonRow]) -> str:
    unknown = [row.sets for row in rows if isinstance(row.sets, CannotBeKnown)]
    if not unknown:
        return ""
    fewest = min(unknown, key=lambda sets: sets.n_sets)
    return f"Few node sets: the effect is {fewest.text}."


def _of_repeats(rows: Sequence[ComparisonRow], run: StudyRun, *, is_twin: bool) -> str:
    if not is_twin or not any(row.unit is Unit.NODE_SET for row in rows):
        return ""
    most = n_repeats_of(run)
    again = f": {most} repeats on one node set count once" if most > 1 else ""
    return f"The twin repeats itself{again}; only the choice of nodes varies between its launches."


def _untreated(cells: Cells, run: StudyRun) -> str:
    n = sum(count for reason, count in cells.excluded.items() if reason.startswith("untreated"))
    if not n:
        return ""
    return (
        f"{n} of {counted(len(run.samples), 'sample')} were untreated and are left out: the "
        "launches that remain may differ from those."
    )


def _lost(run: StudyRun) -> str:
    if not run.failures:
        return ""
    n = len(run.failures)
    return (
        f"{n} of {counted(len(run.launches), 'launch', 'launches')} failed or hung: the slowest "
        "ones may be missing."
    )


def _drift(findings: Sequence[Finding], *, is_twin: bool) -> list[str]:
    drifts = [one.facts for one in findings if isinstance(one.facts, DriftFacts)]
    if not drifts or is_twin:
        return []
    worst = max(drifts, key=lambda drift: abs(drift.change))
    return [
        f"The baseline of {worst.benchmark} drifted by {worst.change:+.1%} during the study: "
        "differences below that may be drift."
    ]


def _one_sitting(cells: Cells, *, is_twin: bool) -> str:
    starts = [value.started_unix_s for value in (*cells.values, *cells.at_end)]
    if is_twin or not starts:
        return ""
    hours = (max(starts) - min(starts)) / 3600
    if hours >= _ONE_SITTING_H:
        return ""
    span = f"{hours:.0f} hours" if hours >= 2 else counted(max(1, round(hours * 60)), "minute")
    return f"All launches ran within {span}: other load at other times is not in the intervals."


def _one_fabric(run: StudyRun, *, is_twin: bool) -> str:
    facts = backend_of(run).facts
    if is_twin:
        return (
            f"One fabric: a twin of {facts.get('platform', '?')} with its constants; no machine "
            "was measured, and another fabric may answer otherwise."
        )
    return "One fabric was measured: another one may answer otherwise."


def _on_one_launch(findings: Sequence[Finding]) -> str:
    n = changed_verdicts(findings)
    if not n:
        return ""
    verb = "rests" if n == 1 else "rest"
    return f"{counted(n, 'verdict')} {verb} on a single anomalous launch (see Anomalies)."


def constants_clause(overturned: Overturned, rows: Sequence[ComparisonRow]) -> str:
    """How many verdicts change with another value of an assumed constant, and of which."""
    concerned = [names for names in overturned.values() if names]
    if not concerned:
        return ""
    names = ", ".join(dict.fromkeys(name for one in concerned for name in one))
    return (
        f"{len(concerned)} of {counted(len(rows), 'verdict')} change with another value of an "
        f"assumed constant (\N{DAGGER} in the report's map): {names}."
    )


def power_clause(rows: Sequence[ComparisonRow]) -> str:
    """'In 4 of 5 such studies a difference of 3.2 % is found, at worst ...'; as a sentence."""
    known = sorted(row.detectable for row in rows)
    if not known:
        return ""
    half = known[len(known) // 2]
    if half == float("inf"):
        return "Too few launches to find a difference of any size."
    share = f"about {round(POWER * 5)} of 5"
    text = f"Power: {share} such studies find a difference of {_difference(half)}"
    if known[-1] == float("inf"):
        n = sum(value == float("inf") for value in known)
        return f"{text}; in {n} of {len(rows)} cells launches are too few to find any."
    worst = max(rows, key=lambda row: row.detectable)
    if _difference(known[-1]) == _difference(half):
        return f"{text} in every cell."
    return (
        f"{text} in half of the cells, of {_difference(known[-1])} in all "
        f"({worst.cell.place} needs most)."
    )


def _difference(ratio: float) -> str:
    """'3.2 %', or 'a factor of 11.9' from 2 on."""
    return percent(ratio - 1) if ratio < 2 else f"a factor of {ratio:.3g}"
