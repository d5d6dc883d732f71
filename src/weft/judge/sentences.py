"""The sentences of the judge: the verdict with its value, its range and its bound, then others."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from weft.catalog.load import platform_names
from weft.catalog.machine.generic import link_names
from weft.core.errors import InputError
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.shell_line import quoted
from weft.expect.nccl.topology import topology
from weft.judge.expectation.conditions import can_be_fitted
from weft.judge.expectation.platform_choice import LINK_CLASS, PlatformChoice
from weft.judge.facts import AnomalousRowFacts, LinkRateFacts, SeparateRunsFacts, VerdictFacts
from weft.judge.headline import (
    bound_text,
    count_text,
    headline,
    limit_text,
    off,
    range_text,
    row_text,
    stands_for,
    telling,
    value_text,
)
from weft.judge.model import JudgedRow, LikelyCause, RowState
from weft.judge.path_class.evidence import LARGE_BYTES
from weft.judge.path_class.mixture import mixture_of, unit_conflict_of
from weft.judge.path_class.statement import LEAST_ROWS, TOO_SHORT, PathFacts

COUNTED = {
    FindingKind.BEYOND_LIMIT: "impossible",
    FindingKind.BELOW_EXPECTED: "low",
    FindingKind.CONTRADICTION: "contradictory",
    FindingKind.AS_EXPECTED: "normal",
    FindingKind.ABOVE_EXPECTED: "better than expected",
}
"""The word for the rows that a verdict is about."""


def findings_of(
    rows: Sequence[JudgedRow],
    place: PlatformChoice,
    causes: Sequence[LikelyCause],
    path_class: Finding,
) -> tuple[Finding, ...]:
    """The verdict first, then what else is worth a sentence, worst first. Where no row can be
    judged, the class of the path is the verdict."""
    verdict = _of_few_rows(_verdict(rows, place, causes), rows, place)
    others = [*_separate(rows), *_odd(rows), *_high(rows), *_explained(rows, place)]
    path_alone = replace(path_class, next_command=None)
    tables = list({id(row.table): row.table for row in rows}.values())
    if verdict.kind is FindingKind.NOT_JUDGED:
        return (path_alone, *others)
    if unit_conflict_of(tables):
        return (path_alone, verdict, *others)
    if mixture := mixture_of(tables):
        text = f"the file holds tables of {mixture}: judge each alone"
        others.insert(0, Finding(FindingKind.EXPLANATION, Severity.WARNING, text))
    if place.platform is None or (place.is_guess and _is_of_gpus(path_class)):
        others.insert(0, path_alone)
    return (verdict, *others)


def _of_few_rows(verdict: Finding, rows: Sequence[JudgedRow], place: PlatformChoice) -> Finding:
    """The verdict; one row is not called good on a guessed machine, and none is where half of the
    expected speed would not show at its largest size: the link decides there, the host at small
    ones. perftest prints one row."""
    if verdict.severity is not Severity.GOOD:
        return verdict
    if hidden := _half_hidden(stands_for([row for row in rows if row.state.is_verdict])):
        sentence = f"TOO WIDE TO TELL, half of {hidden} looks like this: {verdict.sentence}"
        return replace(verdict, severity=Severity.NOTE, sentence=sentence)
    measured = {(row.row.line, row.row.size_bytes) for row in rows}
    is_whole = any(
        row.table.tool == "perftest" and (row.row.size_bytes or 0) >= LARGE_BYTES for row in rows
    )
    if is_whole or not place.is_guess or len(measured) >= LEAST_ROWS:
        return verdict
    sentence = f"{TOO_SHORT}, one row: {verdict.sentence}"
    return replace(verdict, severity=Severity.NOTE, sentence=sentence)


def _half_hidden(row: JudgedRow) -> str:
    """The speed of which half would look the same in this row; "" where half would be low."""
    if not row.shows_half:
        return "the speed"
    return "" if row.shows_half_the_link else "the link's rate"


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
    """What to run next. Standard input is spent, so that no command can read it again."""
    if path != "-":
        return _next_for_file(quoted(Path(path)), rows, place, causes, path_class)
    name = "" if place.platform is None else place.platform.name
    return f"weft platform show {name}" if name in platform_names() else "weft platform list"


def _next_for_file(
    file: str,
    rows: Sequence[JudgedRow],
    place: PlatformChoice,
    causes: Sequence[LikelyCause],
    path_class: Finding,
) -> str:
    if place.platform is None and place.candidates:
        return f"weft judge {file} --platform {place.candidates[0]}"
    if place.platform is None:
        return path_class.next_command or ""
    if any(row.lacks_layout for row in rows):
        return f"weft judge {file} --platform {place.platform.name} --nodes 2 --tasks-per-node 1"
    if causes:
        return f"weft judge {file} --platform {place.platform.name} --all-rows"
    if place.is_link_class and (link := _link_fitted_to(rows, place.platform.name)):
        return f"weft platform fit {file} --link {link}"
    return f"weft import {file}"


def _link_fitted_to(rows: Sequence[JudgedRow], platform: str) -> str:
    """The link that a fit to the file takes; "" where the platform is no link, or no fit is."""
    link = platform.removeprefix(LINK_CLASS)
    is_link = link in link_names() or link.endswith("gbps")
    tables = {id(row.table): row.table for row in rows}.values()
    return link if is_link and can_be_fitted(tables) else ""


def _verdict(
    rows: Sequence[JudgedRow], place: PlatformChoice, causes: Sequence[LikelyCause]
) -> Finding:
    if not rows:
        text = "NOT JUDGED: the file has no bandwidth, latency or rate above zero"
        return Finding(FindingKind.NOT_JUDGED, Severity.NOTE, text)
    impossible = [row for row in rows if row.state is RowState.IMPOSSIBLE]
    low = [row for row in rows if row.state is RowState.LOW]
    judged = [row for row in rows if row.state.is_verdict]
    contradicting = [row for row in rows if row.contradictory]
    evidence = _of_causes(causes)
    if impossible:
        worst = telling(impossible)
        text = f"IMPOSSIBLE: {row_text(worst)}; the hardware limit is {limit_text(worst)}"
        return _finding(
            FindingKind.BEYOND_LIMIT, Severity.BAD, text, impossible, rows, evidence=evidence
        )
    if low:
        text = f"LOW: {headline(telling(low), rows)}"
        return _finding(
            FindingKind.BELOW_EXPECTED, Severity.BAD, text, low, rows, evidence=evidence
        )
    if contradicting:
        text = f"CONTRADICTORY: {row_text(contradicting[0])}: {contradicting[0].note}"
        severity = Severity.WARNING if _others_are_good(rows, place) else Severity.NOTE
        return _finding(FindingKind.CONTRADICTION, severity, text, contradicting, rows)
    return _verdict_of_no_fault(rows, judged, place)


def _of_causes(causes: Sequence[LikelyCause]) -> list[str]:
    """The first cause with what it predicts, and the names of those that fit as well."""
    found = [f"{cause.sentence}: predicts {cause.predicts}" for cause in causes[:1]]
    names = [cause.name for cause in causes[1:] if cause.tied]
    return [*found, f"{', '.join(names)} would explain it as well"] if names else found


def _others_are_good(rows: Sequence[JudgedRow], place: PlatformChoice) -> bool:
    """Whether the rows without a contradiction would be called good alone."""
    sound = [row for row in rows if not row.contradictory]
    judged = [row for row in sound if row.state.is_verdict]
    if not judged:
        return False
    verdict = _of_few_rows(_verdict_of_no_fault(sound, judged, place), sound, place)
    return verdict.severity is Severity.GOOD


def _verdict_of_no_fault(
    rows: Sequence[JudgedRow], judged: Sequence[JudgedRow], place: PlatformChoice
) -> Finding:
    """The verdict where no row is wrong: normal, better, too wide to tell, or not judged."""
    too_wide = [row for row in rows if row.state is RowState.TOO_WIDE]
    if too_wide and stands_for([*judged, *too_wide]).state is RowState.TOO_WIDE:
        return _too_wide(stands_for([*judged, *too_wide]), too_wide, rows)
    if not judged:
        why = next((row.note for row in rows if row.note and not row.odd), place.because)
        text = f"NOT JUDGED: {row_text(stands_for(rows))}; {why}"
        return _finding(FindingKind.NOT_JUDGED, Severity.NOTE, text, (), rows)
    best = stands_for(judged)
    if best.state is RowState.HIGH:
        # The machine is faster than its figures: half of its own speed might be normal by them.
        text = f"BETTER THAN EXPECTED: {headline(best, rows)}"
        high = [row for row in judged if row.state is RowState.HIGH]
        return _finding(FindingKind.ABOVE_EXPECTED, Severity.NOTE, text, high, rows)
    text = f"NORMAL: {headline(best, rows)}"
    normal = [row for row in judged if row.state is RowState.NORMAL]
    return _finding(FindingKind.AS_EXPECTED, Severity.GOOD, text, normal, rows)


def _too_wide(best: JudgedRow, members: Sequence[JudgedRow], rows: Sequence[JudgedRow]) -> Finding:
    text = (
        f"TOO WIDE TO TELL: {row_text(best)}: {best.note.removeprefix('too wide to tell: ')}"
        f" ({len(members)} of {len(rows)} rows; --against your own runs narrows it)"
    )
    facts = _finding(FindingKind.TOO_WIDE, Severity.NOTE, text, (), rows).facts
    evidence = (bound_text(best),)
    return Finding(FindingKind.TOO_WIDE, Severity.NOTE, text, evidence, None, facts)


def _finding(
    kind: FindingKind,
    severity: Severity,
    text: str,
    members: Sequence[JudgedRow],
    rows: Sequence[JudgedRow],
    *,
    evidence: Sequence[str] = (),
) -> Finding:
    judged = sum(row.state.is_verdict for row in rows)
    states = Counter(row.state for row in rows)
    facts = VerdictFacts(
        rows=len(rows),
        rows_judged=judged,
        lines=[row.row.line for row in members],
        by_state={state: states[state] for state in RowState},
    )
    count = count_text(COUNTED.get(kind, ""), len(members), rows)
    return Finding(kind, severity, text + count, tuple(evidence), None, facts)


def _odd(rows: Sequence[JudgedRow]) -> list[Finding]:
    return [
        Finding(
            FindingKind.CONTRADICTION if row.contradictory else FindingKind.ANOMALY,
            Severity.WARNING,
            f"line {row.row.line}: {row_text(row)}: {row.note}",
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
    best = max(high, key=off)
    text = (
        f"{len(high)} rows are better than expected and within the hardware limits:"
        f" {row_text(best)}, expected {range_text(best)}"
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
        f"{row_text(row)} is more than {name} ({value_text(gb_s)} GB/s), without an error:"
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
