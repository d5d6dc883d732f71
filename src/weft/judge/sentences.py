"""The sentences of the judge: the verdict with its value, its range and its bound, then others."""

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from weft.core.errors import InputError
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.units import format_significant, format_size
from weft.expect.nccl.topology import topology
from weft.judge.expectation.platform_choice import PlatformChoice
from weft.judge.facts import AnomalousRowFacts, LinkRateFacts, SeparateRunsFacts, VerdictFacts
from weft.judge.model import JudgedRow, LikelyCause, RowState
from weft.judge.path_class.statement import PathFacts

WORDS = {
    "latency_us": "latency",
    "bandwidth_mb_s": "bandwidth",
    "busbw_gb_s": "bus bandwidth",
    "algbw_gb_s": "algorithm bandwidth",
    "msg_rate_mps": "message rate",
    "impact": "congestion impact",
}


def findings_of(
    rows: Sequence[JudgedRow],
    place: PlatformChoice,
    causes: Sequence[LikelyCause],
    path_class: Finding,
) -> tuple[Finding, ...]:
    """The verdict first, then what else is worth a sentence, worst first. Where no row can be
    judged, the class of the path is the verdict."""
    verdict = _verdict(rows, place, causes)
    others = [*_separate(rows), *_odd(rows), *_high(rows), *_explained(rows, place)]
    if verdict.kind is FindingKind.NOT_JUDGED:
        return (replace(path_class, next_command=None), *others)
    if place.platform is None or (place.is_guess and _is_of_gpus(path_class)):
        others.insert(0, replace(path_class, next_command=None))
    return (verdict, *others)


def _is_of_gpus(path_class: Finding) -> bool:
    facts = path_class.facts
    return isinstance(facts, PathFacts) and "gpu-link" in facts.transports


def next_command(
    path: str,
    rows: Sequence[JudgedRow],
    place: PlatformChoice,
    causes: Sequence[LikelyCause],
    path_class: Finding,
) -> str:
    """What to run next."""
    quoted = shlex.quote(path)
    if place.platform is None and place.candidates:
        return f"weft judge {quoted} --platform {place.candidates[0]}"
    if place.platform is None:
        return path_class.next_command or ""
    if any(row.lacks_layout for row in rows):
        return f"weft judge {quoted} --platform {place.platform.name} --nodes 2 --tasks-per-node 1"
    if causes:
        return f"weft judge {quoted} --platform {place.platform.name} --all-rows"
    return f"weft import {quoted}"


def _verdict(
    rows: Sequence[JudgedRow], place: PlatformChoice, causes: Sequence[LikelyCause]
) -> Finding:
    if not rows:
        text = "NOT JUDGED: the file has no bandwidth, latency or rate above zero"
        return Finding(FindingKind.NOT_JUDGED, Severity.NOTE, text)
    impossible = [row for row in rows if row.state is RowState.IMPOSSIBLE]
    low = [row for row in rows if row.state is RowState.LOW]
    judged = [row for row in rows if row.state is not RowState.UNJUDGED]
    contradicting = [row for row in rows if row.contradictory]
    evidence = [f"{cause.sentence}: predicts {cause.predicts}" for cause in causes[:1]]
    if impossible:
        worst = _telling(impossible)
        text = f"IMPOSSIBLE: {_row_text(worst)}; the hardware limit is {_limit_text(worst)}"
        return _finding(
            FindingKind.BEYOND_LIMIT, Severity.BAD, text, impossible, rows, evidence=evidence
        )
    if low:
        worst = _telling(low)
        text = f"LOW: {_row_text(worst)}, expected {_range_text(worst)}; {_bound_text(worst)}"
        return _finding(
            FindingKind.BELOW_EXPECTED, Severity.BAD, text, low, rows, evidence=evidence
        )
    if contradicting:
        text = f"CONTRADICTORY: {_row_text(contradicting[0])}: {contradicting[0].note}"
        kind = FindingKind.CONTRADICTION
        return _finding(kind, Severity.WARNING, text, contradicting, rows)
    if not judged:
        why = next((row.note for row in rows if row.note and not row.odd), place.because)
        text = f"NOT JUDGED: {_row_text(_headline(rows))}; {why}"
        return _finding(FindingKind.NOT_JUDGED, Severity.NOTE, text, (), rows)
    best = _headline(judged)
    text = f"NORMAL: {_row_text(best)}, expected {_range_text(best)}; {_bound_text(best)}"
    normal = [row for row in judged if row.state is RowState.NORMAL]
    return _finding(FindingKind.AS_EXPECTED, Severity.GOOD, text, normal, rows)


def _finding(
    kind: FindingKind,
    severity: Severity,
    text: str,
    members: Sequence[JudgedRow],
    rows: Sequence[JudgedRow],
    *,
    evidence: Sequence[str] = (),
) -> Finding:
    judged = sum(row.state is not RowState.UNJUDGED for row in rows)
    states = Counter(row.state for row in rows)
    facts = VerdictFacts(
        rows=len(rows),
        rows_judged=judged,
        lines=[row.row.line for row in members],
        by_state={state: states[state] for state in RowState},
    )
    share = f" ({len(members)} of {judged} rows judged)" if members and judged else ""
    return Finding(kind, severity, text + share, tuple(evidence), None, facts)


def _odd(rows: Sequence[JudgedRow]) -> list[Finding]:
    return [
        Finding(
            FindingKind.CONTRADICTION if row.contradictory else FindingKind.ANOMALY,
            Severity.WARNING,
            f"line {row.row.line}: {_row_text(row)}: {row.note}",
            facts=AnomalousRowFacts(row.row.line, row.row.size_bytes, row.metric),
        )
        for row in rows
        if row.odd
    ]


def _separate(rows: Sequence[JudgedRow]) -> list[Finding]:
    """Tables whose ranks never formed one job: each process ran alone and printed its own rows."""
    found = {id(row.table): row.table for row in rows if "separate_runs" in row.table.conditions}
    return [
        Finding(
            FindingKind.MIS_SETTING,
            Severity.WARNING,
            f"line {table.first_line}: {table.conditions['separate_runs']} runs in one table,"
            " each with its own rank 0: they did not communicate, so the rows do not"
            " measure the network (build nccl-tests with MPI=1 for one job)",
            facts=SeparateRunsFacts(table.first_line, table.conditions["separate_runs"]),
        )
        for table in found.values()
    ]


def _high(rows: Sequence[JudgedRow]) -> list[Finding]:
    high = [row for row in rows if row.state is RowState.HIGH]
    if not high:
        return []
    best = max(high, key=_off)
    text = (
        f"{len(high)} rows are better than expected and within the hardware limits:"
        f" {_row_text(best)}, expected {_range_text(best)}"
    )
    return [Finding(FindingKind.ABOVE_EXPECTED, Severity.NOTE, text)]


def _explained(rows: Sequence[JudgedRow], place: PlatformChoice) -> list[Finding]:
    """What is normal although it is more than a link carries, with the reason."""
    found = [
        (row, exceeded)
        for row in rows
        if row.state in (RowState.NORMAL, RowState.HIGH)
        and (exceeded := _rate_exceeded(row, place)) is not None
    ]
    if not found:
        return []
    row, (name, gb_s) = max(found, key=lambda pair: pair[0].value)
    text = (
        f"{_row_text(row)} is more than {name} ({_value(gb_s)} GB/s), without an error:"
        f" {row.expectation.bound if row.expectation else ''}"
    )
    return [Finding(FindingKind.EXPLANATION, Severity.NOTE, text, facts=LinkRateFacts(gb_s))]


def _rate_exceeded(row: JudgedRow, place: PlatformChoice) -> tuple[str, float] | None:
    """The physical rate that a bus bandwidth exceeds: NVLink's in a node, the adapters' beyond."""
    conditions = row.conditions
    if row.metric != "busbw_gb_s" or conditions is None or place.platform is None:
        return None
    try:
        found = topology(place.platform, conditions)
    except InputError:
        return None
    if conditions.inside_node:
        name, rate = "NVLink's rate of one GPU", found.nvlink_raw
    else:
        name, rate = "the rate of a node's adapters", found.net_raw
    return (name, rate) if row.value > rate > 0 else None


def _headline(rows: Sequence[JudgedRow]) -> JudgedRow:
    """The row that stands for a file: the largest size, not odd, the best where there are more."""
    sound = [row for row in rows if not row.odd] or list(rows)
    most = max(row.row.size_bytes or 0 for row in sound)
    return next(row for row in sound if (row.row.size_bytes or 0) == most)


def _telling(rows: Sequence[JudgedRow]) -> JudgedRow:
    """The row of a verdict: of the sound ones the largest size, there the farthest off."""
    sound = [row for row in rows if not row.odd] or list(rows)
    return max(sound, key=lambda row: (row.row.size_bytes or 0, _off(row)))


def _off(row: JudgedRow) -> float:
    """How far a row is from what is expected, as a factor of at least one."""
    if row.expectation is None or row.expectation.value <= 0:
        return 1.0
    ratio = row.value / row.expectation.value
    return max(ratio, 1 / ratio)


def _row_text(row: JudgedRow) -> str:
    size = f" at {format_size(row.row.size_bytes)}" if row.row.size_bytes is not None else ""
    name = row.table.test or row.table.benchmark or row.table.tool
    word = WORDS.get(row.metric, row.metric)
    return f"{name}{size}: {word} {_value(row.value)} {row.unit}".rstrip()


def _range_text(row: JudgedRow) -> str:
    found = row.expectation
    if found is None:
        return "nothing"
    return f"{_value(found.low)} to {_value(found.high)} {found.unit}"


def _bound_text(row: JudgedRow) -> str:
    return f"limited by {row.expectation.bound}" if row.expectation else ""


def _limit_text(row: JudgedRow) -> str:
    found = row.expectation
    if found is None or found.limit is None:
        return "its limit"
    return f"{_value(found.limit)} {found.unit} ({found.limit_name})"


def _value(value: float) -> str:
    return format_significant(value, 4)
