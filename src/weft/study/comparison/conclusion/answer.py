"""The answer of a study in one sentence, and the range in which it is valid."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from weft.bench.result_scale import is_imported
from weft.core.finding import Finding, FindingFacts, FindingKind, Severity, cannot_tell
from weft.core.units import format_size
from weft.core.words import counted
from weft.stats.nodesets import SETS_FROM
from weft.study.comparison.cells import arm_name
from weft.study.comparison.effects import MOST_UNITS, EffectFacts, percent
from weft.study.comparison.replication import Unit
from weft.study.comparison.rows import ComparisonRow, RowOutcome
from weft.study.run.backend_record import backend_of
from weft.study.run.store import StudyRun

SUMMED_UP = (
    RowOutcome.FASTER,
    RowOutcome.SLOWER,
    RowOutcome.EQUIVALENT,
    RowOutcome.UNDECIDED,
)
"""Outcomes that the sentence reports whole; of the others the reason matters, and effects of too
few launches share a finding with their ratios."""

_NAMED = 3
"""Benchmarks that a sentence names one by one."""


@dataclass(frozen=True, slots=True)
class AnswerFacts(FindingFacts):
    """`second` against `first` over all cells: how many have each outcome."""

    first: str
    second: str
    n_cells: int
    outcomes: Mapping[str, int]
    largest_gain: float
    largest_loss: float


def answer_findings(
    rows: Sequence[ComparisonRow],
    effects: Sequence[Finding],
    margin: float,
    n_missing: Mapping[str, int] = MappingProxyType({}),
) -> list[Finding]:
    """One finding an arm that has several effects; a single effect is its own answer. Where no cell
    is decided and more launches do not help, the effects say what does. `n_missing`: by arm, the
    cells planned that no row compares; they are not decided."""
    found = []
    for second in dict.fromkeys(row.second for row in rows):
        facts = [one.facts for one in effects if isinstance(one.facts, EffectFacts)]
        of_arm = [one for one in facts if one.second == second]
        if len(of_arm) > 1 and any(one.outcome in SUMMED_UP for one in of_arm):
            of_second = [row for row in rows if row.second == second]
            found.append(_answer(of_second, of_arm, margin, n_missing.get(second, 0)))
    return found


def _answer(
    rows: Sequence[ComparisonRow], effects: Sequence[EffectFacts], margin: float, n_missing: int
) -> Finding:
    n = Counter(row.outcome for row in rows)
    n_faster, n_slower, n_equal = (
        n[one] for one in (RowOutcome.FASTER, RowOutcome.SLOWER, RowOutcome.EQUIVALENT)
    )
    n_open = len(rows) + n_missing - n_faster - n_slower - n_equal
    severity = Severity.BAD if n_slower else Severity.UNKNOWN if n_open else Severity.GOOD
    gains = [1 / row.slowdown for row in rows if row.outcome is RowOutcome.FASTER]
    losses = [row.slowdown for row in rows if row.outcome is RowOutcome.SLOWER]
    sentence = _sentence(rows, (n_faster, n_slower, n_equal, n_open), effects, margin)
    return Finding(
        FindingKind.ANSWER,
        severity,
        f"{sentence}.",
        facts=AnswerFacts(
            rows[0].first,
            rows[0].second,
            len(rows) + n_missing,
            {outcome.value: count for outcome, count in n.items()},
            max(gains, default=1.0),
            max(losses, default=1.0),
        ),
    )


def _sentence(
    rows: Sequence[ComparisonRow],
    counts: tuple[int, int, int, int],
    effects: Sequence[EffectFacts],
    margin: float,
) -> str:
    n_faster, n_slower, n_equal, n_open = counts
    n_cells = sum(counts)
    subject, second = _benchmarks(rows), rows[0].second
    plural = "are" if " and " in subject or subject.endswith("benchmarks") else "is"
    if n_open == n_cells:
        asked = f"{subject} with {second} against {rows[0].first}, none of {n_open} cells decided"
        return cannot_tell(asked, _needed(effects))
    clauses = [
        (n_faster, "faster", _most(rows, RowOutcome.FASTER)),
        (n_slower, "slower", _most(rows, RowOutcome.SLOWER)),
        (n_equal, f"equal within {percent(margin)}", ""),
    ]
    parts: list[str] = []
    for n, word, most in clauses:
        if n:
            of_all = "" if parts else " cells" if n == n_cells else f" of {n_cells} cells"
            number = f"all {n}" if n == n_cells else str(n)
            parts.append(f"{word} in {number}{of_all}{most}")
    joined = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    rest = f"; {n_open} {'is' if n_open == 1 else 'are'} not decided" if n_open else ""
    return f"{subject} with {second} {plural} {joined}{rest}"


def _benchmarks(rows: Sequence[ComparisonRow]) -> str:
    names = list(dict.fromkeys(row.cell.benchmark for row in rows))
    if len(names) > _NAMED:
        return counted(len(names), "benchmark")
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _most(rows: Sequence[ComparisonRow], outcome: RowOutcome) -> str:
    """' (up to 1.42x: allreduce 8 B on 64 nodes x 1 rank)'."""
    concerned = [row for row in rows if row.outcome is outcome]
    if not concerned:
        return ""
    end = max if outcome is RowOutcome.SLOWER else min
    row = end(concerned, key=lambda row: row.slowdown)
    change = max(row.slowdown, 1 / row.slowdown)
    up_to = "up to " if len(concerned) > 1 else ""
    return f" ({up_to}{change:.2f}x: {row.cell.place})"


def _needed(effects: Sequence[EffectFacts]) -> str:
    most = max(effects, key=lambda one: one.n_units_needed)
    n = min(most.n_units_needed, MOST_UNITS)
    about = "at least" if most.outcome is RowOutcome.TOO_FEW else "about"
    return f"{about} {n:,} {most.unit.value}"


def valid_for(runs: Sequence[StudyRun], rows: Sequence[ComparisonRow]) -> str:
    """'Valid for allreduce of 8 B to 4 KiB on 2 to 64 nodes x 1 rank, ...'; '' without rows."""
    if not rows:
        return ""
    sizes = _named_sizes(rows)
    nodes = _span(sorted({row.cell.n_nodes for row in rows}))
    tasks = _span(sorted({row.cell.tasks_per_node for row in rows}))
    scale = (
        f"on {nodes} {'node' if nodes == '1' else 'nodes'} x {tasks} rank"
        f"{'' if tasks == '1' else 's'}"
    )
    under = _conditions(sorted({row.cell.condition for row in rows} - {""}))
    place = " and ".join(dict.fromkeys(_place(run) for run in runs))
    parts = [f"{sizes} {scale}", *([f"under {under}"] if under else []), _sets(runs, rows), place]
    return f"Valid for {', '.join(parts)}."


def _conditions(conditions: Sequence[str]) -> str:
    """Each of few; of many each factor with its settings."""
    if len(conditions) <= _NAMED:
        return "; ".join(conditions)
    settings: dict[str, dict[str, None]] = {}
    for condition in conditions:
        for part in condition.split(","):
            factor, _, setting = part.partition("=")
            settings.setdefault(factor, {})[setting] = None
    each = "; ".join(f"{factor} {', '.join(names)}" for factor, names in settings.items())
    return f"{len(conditions)} conditions ({each})"


def _span(values: Sequence[int]) -> str:
    return str(values[0]) if len(values) == 1 else f"{values[0]} to {values[-1]}"


def _named_sizes(rows: Sequence[ComparisonRow]) -> str:
    by_sizes: dict[str, list[str]] = {}
    for name in dict.fromkeys(row.cell.benchmark for row in rows):
        sizes = sorted({row.cell.size_bytes for row in rows if row.cell.benchmark == name})
        ends = dict.fromkeys((format_size(sizes[0]), format_size(sizes[-1])))
        by_sizes.setdefault(" to ".join(ends) if sizes[-1] else "", []).append(name)
    return ", ".join(
        f"{' and '.join(filter(None, (', '.join(names[:-1]), names[-1])))}"
        f"{f' of {sizes}' if sizes else ''}"
        for sizes, names in by_sizes.items()
    )


def _sets(runs: Sequence[StudyRun], rows: Sequence[ComparisonRow]) -> str:
    """The node sets that the intervals speak of."""
    least = min(_n_sets(runs), default=1)
    if least >= SETS_FROM:
        is_unit = all(row.unit is Unit.NODE_SET for row in rows)
        return f"{least} node sets" + (" and others like them" if is_unit else "")
    return f"these {counted(least, 'node set')} only" if least > 1 else "this node set only"


def _n_sets(runs: Sequence[StudyRun]) -> list[int]:
    """The different node sets of each run, number of nodes, arm and condition."""
    sets: dict[tuple[int, int, str, str], set[frozenset[str]]] = {}
    for number, run in enumerate(runs):
        trials = {launch.trial.id: launch.trial for launch in run.launches}
        for trial in trials.values():
            key = (number, len(trial.nodes), arm_name(trial.arm), arm_name(trial.condition))
            sets.setdefault(key, set()).add(frozenset(trial.nodes))
    return [len(found) for found in sets.values()]


def _place(run: StudyRun) -> str:
    backend = backend_of(run)
    if backend.is_twin:
        n_nodes = backend.facts.get("n_nodes")
        of = f" of {n_nodes} nodes" if n_nodes else ""
        return f"on a twin{of} ({backend.facts.get('platform', '?')}), not a machine"
    if is_imported(run.meta):
        return "in these files"
    return "on this machine as it was" if backend.name == "live" else f"on backend {backend.name}"
