"""Accusations joined with the statements of files: evidence, a narrower tie, or a warning."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from weft.check.external_evidence.event_marks import EVENTS
from weft.check.external_evidence.fabric_marks import MISSING, OWN_RATE, Mark, Marks, related
from weft.check.external_evidence.lossy_cables import Damage, damage_of, disturbed_by, overruled
from weft.check.readings.components import Thing
from weft.check.suspects.accusation import Accusation
from weft.check.suspects.survey import Survey
from weft.core.finding import Finding, FindingFacts, FindingKind, Severity
from weft.core.words import counted

MOST_LINES = 6
"""Of one accusation so many statements of the files are printed."""
_MORE_IN_AUDIT = ": weft fabric audit"


@dataclass(frozen=True, slots=True)
class JoinedAccusation:
    """An accusation with the evidence of the files: its narrowed tie, and lines. `damage`:
    the state of the error counters that support it; None where readings do.
    `by_counters`: only they support it, beyond chance. `clean`: they counted no error."""

    accusation: Accusation
    lines: tuple[str, ...]
    damage: Damage | None = None
    by_counters: bool = False
    clean: bool = False


@dataclass(frozen=True, slots=True)
class FileStatements(FindingFacts):
    """An audit rule, and the things that it finds fault with."""

    rule: str
    things: tuple[Thing, ...]


def joined(
    survey: Survey, accusations: Sequence[Accusation], marks: Marks
) -> list[JoinedAccusation]:
    """The accusations, by readings or by error counters that overrule them, with the statements of
    the files."""
    owners = survey.owners
    by_readings = [with_statements(accusation, marks, owners) for accusation in accusations]
    left = [one.accusation for one in by_readings]
    return by_readings + [
        replace(with_statements(one, marks, owners), damage=Damage.GROWN, by_counters=True)
        for one in disturbed_by(survey, left, marks)
    ]


def with_statements(
    accusation: Accusation, marks: Marks, owners: Mapping[str, str]
) -> JoinedAccusation:
    """Join an accusation with the statements about its components, or about the cable of one.

    Of cables that no reading separates, the only one that the files fault is accused alone. Where
    counters show lost packets, the readings are not explained by other traffic.
    `owners`: the node of each HCA.
    """
    left, lines = overruled(accusation, marks), list[str]()
    damage = None if left is accusation else damage_of(left.components, marks)
    faulted = {mark.thing for mark in marks.marks if mark.is_fault}
    flagged = [c for c in left.components if c.thing in faulted]
    all_cables = all(component.thing[0] == "cable" for component in left.components)
    if all_cables and left.tie and len(flagged) == 1:
        left = replace(left, components=tuple(flagged))
        n = len(accusation.components)
        lines.append(f"of {n} cables that no reading separates, the files fault this one only")
    about = [mark for mark in marks.marks if left.things & set(related(mark.thing, owners))]
    lines += _first_few([f"the files say: {mark.says}" for mark in about], " faults in the files")
    if left.tie and any(mark.rule == OWN_RATE for mark in about):
        lines.append("a link below its rate is its cable or a port: look there first")
    clean = not about and _is_clean(left, marks)
    if clean:
        lines.append("the counters of both its ports show no error")
    return JoinedAccusation(left, tuple(lines), damage, clean=clean)


def unshown(survey: Survey, accusations: Iterable[Accusation], marks: Marks) -> list[Finding]:
    """A warning for each rule whose statements are about things that no accusation names."""
    named = frozenset[Thing]().union(*(accusation.things for accusation in accusations))
    by_rule: dict[str, list[Mark]] = defaultdict(list)
    for mark in marks.marks:
        if mark.is_fault and not named & set(related(mark.thing, survey.owners)):
            by_rule[mark.rule].append(mark)
    missing = by_rule.pop(MISSING, [])
    of_cables = [_unshown(survey, rule, of) for rule, of in by_rule.items()]
    return [*([_missing(missing)] if missing else []), *of_cables, *_notes(marks)]


def _notes(marks: Marks) -> Iterator[Finding]:
    """A note of events that the check cannot have met."""
    notes = [mark for mark in marks.marks if mark.severity is Severity.NOTE]
    events = [mark for mark in notes if mark.rule == EVENTS]
    if events:
        first, *more = (mark.says for mark in events)
        yield Finding(
            FindingKind.ANOMALY,
            Severity.NOTE,
            f"The logs report link events outside the check: {first}.",
            evidence=tuple(_first_few(more, " events in the logs")),
            facts=FileStatements(EVENTS, _things(events)),
        )


def _missing(of: Sequence[Mark]) -> Finding:
    """Missing cables slow no reading themselves: the remaining cables carry their share."""
    first, *more = dict.fromkeys(mark.says for mark in of)
    return Finding(
        FindingKind.SUSPECT_LINK,
        Severity.WARNING,
        f"Cables are missing, according to the files: {first}.",
        evidence=(
            *_first_few(more, _MORE_IN_AUDIT),
            "no pair can cross them: the remaining cables carry their share",
            *_fixes(of),
        ),
        facts=FileStatements(MISSING, _things(of)),
    )


def _first_few(lines: Sequence[str], noun: str) -> list[str]:
    """The first lines, and how many more there are."""
    more = len(lines) - MOST_LINES
    return [*lines[:MOST_LINES], *([f"and {more} more{noun}"] if more > 0 else [])]


def _things(of: Sequence[Mark]) -> tuple[Thing, ...]:
    return tuple(dict.fromkeys(mark.thing for mark in of))


def _unshown(survey: Survey, rule: str, of: Sequence[Mark]) -> Finding:
    things = _things(of)
    n, n_slow = _crossed(survey, things)
    first = of[0].says
    noun = things[0][0] if len({kind for kind, _ in things}) == 1 else "component"
    shown = f"{counted(n_slow, 'slow reading')} may show" if n_slow else "no reading shows"
    sentence = (
        f"The files report a fault that {shown}: {first}."
        if len(things) == 1
        else f"The files report faults of {counted(len(things), noun)} that {shown}"
        f" ({rule}): {first}."
    )
    lines = _first_few([mark.says for mark in of[1:]], _MORE_IN_AUDIT)
    return Finding(
        FindingKind.SUSPECT_LINK,
        Severity.WARNING,
        sentence,
        evidence=(*lines, _crossed_text(n, n_slow), *_fixes(of)),
        facts=FileStatements(rule, things),
    )


def _fixes(of: Sequence[Mark]) -> list[str]:
    return [f"to do: {fix}" for fix in dict.fromkeys(mark.fix for mark in of) if fix][:1]


def _crossed_text(n: int, n_slow: int) -> str:
    if not n:
        return "no pair crosses it: nothing was measured there"
    return f"{counted(n, 'reading')} over it, {n_slow:,} slow"


def _crossed(survey: Survey, things: Sequence[Thing]) -> tuple[int, int]:
    """How many readings crossed these things, and how many of them are slow."""
    hosts = {name for kind, names in things if kind == "node" for name in names}
    crossings = survey.crossings
    of_hosts = np.array([host in hosts for host in crossings.hosts], np.bool_)[
        crossings.host_number
    ]
    rows = of_hosts[survey.readings.a] | of_hosts[survey.readings.b]
    network = survey.crossings.network
    ports = {port for _, ends in things for port in ends}
    if network is not None:
        numbers = [network.port_id[port] for port in sorted(ports & network.port_id.keys())]
        stages = np.asarray((survey.crossings.by_port[:, numbers] > 0).sum(axis=1)).reshape(-1) > 0
        crossing = survey.crossings.by_stage[:, np.flatnonzero(stages)]
        rows |= np.asarray((crossing > 0).sum(axis=1)).reshape(-1) > 0
    n_slow = int((rows & survey.slow & ~survey.explained).sum())
    return int(rows.sum()), n_slow


def _is_clean(accusation: Accusation, marks: Marks) -> bool:
    cables = [c.thing for c in accusation.components if c.thing[0] == "cable"]
    return bool(cables) and all(cable in marks.counted for cable in cables)
