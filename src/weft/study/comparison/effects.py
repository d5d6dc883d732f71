"""One finding an arm, benchmark, scale and outcome: the ratio always, worst and best.

Where launches are too few to tell, the scales of an arm and benchmark share one finding.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, log, log1p

from weft.core.finding import Finding, FindingFacts, FindingKind, Severity, cannot_tell
from weft.core.units import format_size
from weft.core.words import counted
from weft.stats.ratio import PAIRS_FROM, Ratio
from weft.study.comparison.replication import Unit
from weft.study.comparison.rows import GOOD, SIGNIFICANT, ComparisonRow, RowOutcome

_SIZES_NAMED = 4
MOST_UNITS = 10_000
_NARROWER = 0.7
"""An interval that is to leave a limit out must reach less far than the limit: the next estimate
differs from this one."""


@dataclass(frozen=True, slots=True)
class EffectFacts(FindingFacts):
    """Arms `first` and `second` at one scale (None: at several); `ratios` of the sizes
    in the order of `sizes_bytes`. `n_units_needed` tells how many units of replication would decide
    (0: it is decided)."""

    benchmark: str
    n_nodes: int | None
    tasks_per_node: int | None
    first: str
    second: str
    sizes_bytes: tuple[int, ...]
    ratios: tuple[float, ...]
    outcome: RowOutcome
    margin: float
    unit: Unit
    n_units_needed: int = 0
    condition: str = ""


_KINDS = {
    RowOutcome.SLOWER: (FindingKind.REGRESSION, Severity.BAD),
    RowOutcome.FASTER: (FindingKind.SPEED_UP, Severity.GOOD),
    RowOutcome.EQUIVALENT: (FindingKind.NO_DIFFERENCE, Severity.GOOD),
    RowOutcome.UNDECIDED: (FindingKind.TOO_WIDE, Severity.UNKNOWN),
    RowOutcome.TOO_FEW: (FindingKind.NOT_ENOUGH_DATA, Severity.UNKNOWN),
    RowOutcome.LOST: (FindingKind.NOT_ENOUGH_DATA, Severity.UNKNOWN),
    RowOutcome.UNPROVED: (FindingKind.NOT_ENOUGH_DATA, Severity.UNKNOWN),
    RowOutcome.NO_VERDICT: (FindingKind.NOT_ENOUGH_DATA, Severity.UNKNOWN),
}


def effect_findings(rows: Sequence[ComparisonRow], margin: float) -> list[Finding]:
    """Findings of all rows. Equal means: the ratio lies within `margin`."""
    groups: dict[tuple[str, str, str, RowOutcome], list[ComparisonRow]] = {}
    totals: Counter[tuple[str, str, str]] = Counter()
    for row in rows:
        scale = "" if row.outcome is RowOutcome.TOO_FEW else row.cell.scale
        groups.setdefault((row.second, row.cell.benchmark, scale, row.outcome), []).append(row)
        totals[row.second, row.cell.benchmark, row.cell.scale] += 1
    say_scale = len({row.cell.scale for row in rows}) > 1
    return [
        _finding(group, _Place(totals[arm, name, group[0].cell.scale], say_scale, margin))
        for (arm, name, *_), group in groups.items()
    ]


def would_show(rows: Sequence[ComparisonRow], margin: float) -> tuple[str, ...]:
    """The slowdowns that the good findings rule out; none where no row is decided."""
    sizes = Counter(row.cell.benchmark for row in rows if row.outcome in GOOD)
    if not sizes:
        return ()
    where = ", ".join(f"{name} ({counted(n, 'cell')})" for name, n in sizes.items())
    missed = f"missed in at most {percent(SIGNIFICANT)} of comparisons"
    return (f"{percent(margin)} slower or more in {where}; {missed}",)


def percent(share: float) -> str:
    """'5 %', '0.5 %'."""
    return f"{100 * share:.3g} %"


@dataclass(frozen=True, slots=True)
class _Place:
    """The sizes that a benchmark has in all, and whether sentences name the scale."""

    n_sizes: int
    say_scale: bool
    margin: float


def _finding(rows: list[ComparisonRow], place: _Place) -> Finding:
    row = rows[0]
    n_nodes, tasks = (
        (None, None) if _scales(rows) > 1 else (row.cell.n_nodes, row.cell.tasks_per_node)
    )
    kind, severity = _KINDS[row.outcome]
    needed = _units_needed(rows, place.margin)
    return Finding(
        kind=kind,
        severity=severity,
        sentence=f"{_SENTENCES[row.outcome](rows, place)}.",
        evidence=tuple(_evidence(row) for row in _most_telling(rows)),
        facts=EffectFacts(
            benchmark=row.cell.benchmark,
            n_nodes=n_nodes,
            tasks_per_node=tasks,
            first=row.first,
            second=row.second,
            sizes_bytes=tuple(row.cell.size_bytes for row in rows),
            ratios=tuple(row.effect.ratio for row in rows),
            outcome=row.outcome,
            margin=place.margin,
            unit=row.unit,
            n_units_needed=needed,
            condition=row.cell.condition if n_nodes is not None else "",
        ),
    )


def _moved(rows: list[ComparisonRow], place: _Place) -> str:
    row = rows[0]
    most = max(max(one.effect.ratio, 1 / one.effect.ratio) for one in rows)
    head = f"{_subject(row, place)} is {'up to ' if len(rows) > 1 else ''}{most:.2f}x"
    return (
        f"{head} {row.outcome.value} with {row.second} than with {row.first}"
        f"{_where(rows, place.n_sizes)}: {_ratios(rows)}"
    )


def _equal(rows: list[ComparisonRow], place: _Place) -> str:
    row = rows[0]
    return (
        f"{_subject(row, place)} with {row.second} equals {row.first} within "
        f"{percent(place.margin)}{_where(rows, place.n_sizes)}: {_ratios(rows)}"
    )


def _undecided(rows: list[ComparisonRow], place: _Place) -> str:
    return cannot_tell(f"{_question(rows, place)}, not decided", _more(rows, place, "about"))


def _too_few(rows: list[ComparisonRow], place: _Place) -> str:
    n = min(row.n_pairs for row in rows)
    unit = rows[0].unit.value if n != 1 else rows[0].unit.one
    larger = " of a twin larger than the job" if rows[0].unit is Unit.NODE_SET and n == 1 else ""
    needed = _more(rows, place, "at least")
    question, each = _question(rows, place), ""
    if (n_scales := _scales(rows)) > 1:
        question, each = _question_of_scales(rows, n_scales), " each"
    return cannot_tell(f"{question}, {n} {unit}{each}", f"{needed}{larger}")


def _scales(rows: Sequence[ComparisonRow]) -> int:
    return len({row.cell.scale for row in rows})


def _question_of_scales(rows: list[ComparisonRow], n_scales: int) -> str:
    row, benchmark = rows[0], rows[0].cell.benchmark
    ends = sorted(rows, key=lambda row: row.slowdown)
    sizes = len({row.cell.size_bytes for row in rows}) > 1
    best, worst = (
        f"{end.effect.ratio:.3f} ({end.cell.scale}"
        f"{f', {format_size(end.cell.size_bytes)}' if sizes else ''})"
        for end in (ends[0], ends[-1])
    )
    return (
        f"{benchmark} with {row.second} against {row.first} on {n_scales} placements: worst ratio"
        f" {worst}, best {best}"
    )


def _lost(rows: list[ComparisonRow], place: _Place) -> str:
    row = max(rows, key=lambda row: row.n_lost)
    return cannot_tell(
        f"{_question(rows, place)}, {row.n_lost} of {row.n_lost + row.n_pairs} {row.unit.value} "
        f"of {row.second} are lost and may be slow",
        "the lost ones measured (--resume)",
    )


def _no_verdict(rows: list[ComparisonRow], place: _Place) -> str:
    flags = ", ".join(dict.fromkeys(remark for row in rows for remark in row.remarks))
    return cannot_tell(f"{_question(rows, place)}, {flags}", f"launches without {flags}")


def _unproved(rows: list[ComparisonRow], place: _Place) -> str:
    names = ", ".join(rows[0].unproved)
    return cannot_tell(
        f"{_question(rows, place)}, equal if {names} was in force",
        f"evidence of {names} in the study",
    )


_SENTENCES: dict[RowOutcome, Callable[[list[ComparisonRow], _Place], str]] = {
    RowOutcome.SLOWER: _moved,
    RowOutcome.FASTER: _moved,
    RowOutcome.EQUIVALENT: _equal,
    RowOutcome.UNDECIDED: _undecided,
    RowOutcome.TOO_FEW: _too_few,
    RowOutcome.LOST: _lost,
    RowOutcome.UNPROVED: _unproved,
    RowOutcome.NO_VERDICT: _no_verdict,
}


def _subject(row: ComparisonRow, place: _Place) -> str:
    cell = row.cell
    return f"{cell.benchmark} on {cell.scale}" if place.say_scale else cell.benchmark


def _question(rows: list[ComparisonRow], place: _Place) -> str:
    row = rows[0]
    return (
        f"{_subject(row, place)} with {row.second} against {row.first}"
        f"{_where(rows, place.n_sizes)}: {_ratios(rows)}"
    )


def _more(rows: list[ComparisonRow], place: _Place, about: str) -> str:
    needed = _units_needed(rows, place.margin)
    if needed > MOST_UNITS:
        needed, about = MOST_UNITS, "more than"
    return f"{about} {needed:,} {rows[0].unit.value}"


def _ratios(rows: list[ComparisonRow]) -> str:
    """'ratio 1.25 (interval 1.21 to 1.29)'; of several sizes the worst and the best."""
    if len(rows) == 1:
        return f"ratio {_ratio(rows[0], 'interval ')}"
    worst = max(rows, key=lambda row: row.slowdown)
    best = min(rows, key=lambda row: row.slowdown)
    if f"{worst.effect.ratio:.3f}" == f"{best.effect.ratio:.3f}":
        return f"ratio {worst.effect.ratio:.3f}{_widest(rows)}"
    return (
        f"worst ratio {_ratio(worst)} at {format_size(worst.cell.size_bytes)}, "
        f"best {_ratio(best)} at {format_size(best.cell.size_bytes)}"
    )


def _ratio(row: ComparisonRow, word: str = "") -> str:
    effect = row.effect
    if not isinstance(effect, Ratio):
        return f"{effect.ratio:.3f}"
    return f"{effect.ratio:.3f} ({word}{effect.low:.3f} to {effect.high:.3f})"


def _widest(rows: list[ComparisonRow]) -> str:
    """' (interval 0.99 to 1.01)', which holds the intervals of all rows; '' where one has none."""
    known = [row.effect for row in rows if isinstance(row.effect, Ratio)]
    if len(known) < len(rows):
        return ""
    low, high = min(one.low for one in known), max(one.high for one in known)
    return f" (interval {low:.3f} to {high:.3f})"


def _units_needed(rows: Sequence[ComparisonRow], margin: float) -> int:
    """So many units of replication would decide all rows, if their scatter and ratios stay."""
    return max(_row_units_needed(row, log1p(margin)) for row in rows)


def _row_units_needed(row: ComparisonRow, log_margin: float) -> int:
    effect = row.effect
    if row.outcome is RowOutcome.TOO_FEW:
        return PAIRS_FROM
    if row.outcome is not RowOutcome.UNDECIDED or not isinstance(effect, Ratio):
        return 0
    # Half an interval shrinks with the root of the units; it must leave 1 out, or the margin.
    distance = abs(log(effect.ratio))
    reach = _NARROWER * max(distance, log_margin - distance)
    half = log(effect.high / effect.low) / 2
    return _two_digits_up(max(effect.n + 1, ceil(effect.n * (half / reach) ** 2)))


def _two_digits_up(n: int) -> int:
    """1022 as 1100: an estimate has no more digits."""
    step: int = 10 ** max(0, len(str(n)) - 2)
    return -(-n // step) * step


def _where(rows: list[ComparisonRow], n_sizes: int) -> str:
    """' at 3 of 20 sizes (8 B to 1 MiB)'; nothing for a benchmark without sizes."""
    sizes = [row.cell.size_bytes for row in rows]
    if n_sizes == 1:
        return f" at {format_size(sizes[0])}" if sizes[0] else ""
    if len(sizes) == n_sizes:
        return " at both sizes" if n_sizes == 2 else f" at all {n_sizes} sizes"
    if len(sizes) > _SIZES_NAMED:
        return (
            f" at {len(sizes)} of {n_sizes} sizes "
            f"({format_size(sizes[0])} to {format_size(sizes[-1])})"
        )
    return f" at {', '.join(format_size(size) for size in sizes)}"


def _most_telling(rows: list[ComparisonRow]) -> list[ComparisonRow]:
    """At most four rows that have an interval, the largest effects first."""
    known = [row for row in rows if isinstance(row.effect, Ratio)]
    return sorted(known, key=lambda row: -abs(log(row.effect.ratio)))[:_SIZES_NAMED]


def _evidence(row: ComparisonRow) -> str:
    effect = row.effect
    if not isinstance(effect, Ratio):
        return f"{row.cell.text}: {effect.text}"
    return (
        f"{row.cell.text}: {row.metric} {row.median_first:.4g} -> {row.median_second:.4g}, ratio "
        f"{effect.ratio:.3f} [{effect.low:.3f}, {effect.high:.3f}] over {effect.n} "
        f"{row.unit.value}, adjusted p {row.p_adjusted:.2g}"
    )
