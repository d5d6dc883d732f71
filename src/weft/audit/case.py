"""A subnet under audit, and the ruling of a rule."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from weft.audit.cabling.device_label import Labels
from weft.audit.cabling.wiring import NO_LEVEL, Wiring
from weft.audit.facts import AuditFacts
from weft.audit.thresholds import AuditThresholds, thresholds
from weft.catalog.machine.platform import Platform
from weft.core.finding import Finding, FindingKind, Severity
from weft.topology.subnet.subnet import Subnet
from weft.topology.subnet.up_links import UpLinks, up_links_of

if TYPE_CHECKING:
    from weft.topology.engine import PathSurvey

PortKey = tuple[int, int]
"""A node and its port's number."""


@dataclass(frozen=True, slots=True)
class Interval:
    """The time between two readings of counters, and how it is known."""

    seconds: float
    how: str

    @property
    def hours(self) -> float:
        """The same in hours."""
        return self.seconds / 3600


@dataclass(frozen=True)
class AuditCase:
    """A subnet, what was read of it before, the platform, and the thresholds.

    `before` has today's cables where the earlier files have none, so that their counters find
    their ports; then it `has_earlier_cables` not.
    """

    subnet: Subnet
    before: Subnet | None = None
    has_earlier_cables: bool = True
    interval: Interval | None = None
    platform: Platform | None = None
    thresholds: AuditThresholds = field(default_factory=thresholds)

    @cached_property
    def labels(self) -> Labels:
        """How nodes and ports are written."""
        return Labels(self.subnet, self.thresholds.names)

    @cached_property
    def wiring(self) -> Wiring:
        """Cables by switch and level."""
        return Wiring(self.subnet, self.labels, self.thresholds)

    @cached_property
    def up_links(self) -> UpLinks:
        """Cables up against those of siblings."""
        levels = self.wiring.levels
        return up_links_of(self.subnet, {s: at for s, at in levels.items() if at != NO_LEVEL})

    @cached_property
    def survey(self) -> "PathSurvey":
        """The survey of all paths. Only where there are tables."""
        return self.subnet.survey()

    @cached_property
    def readings(self) -> Mapping[PortKey, list[Mapping[str, Any]]]:
        """Readings of each port in the order of the files: those from before come first.

        Parts that name different counters of a port are one reading.
        """
        found: dict[PortKey, list[Mapping[str, Any]]] = defaultdict(list)
        if self.before is not None:
            here = {node.guid: node.index for node in self.subnet.nodes}
            for reading in self.before.description["readings"]:
                guid = self.before.nodes[reading["end"]["node"]].guid
                if guid in here:
                    _add(found[here[guid], reading["end"]["port"]], reading)
        for reading in self.subnet.description["readings"]:
            _add(found[reading["end"]["node"], reading["end"]["port"]], reading)
        return found


def _add(readings: list[Mapping[str, Any]], reading: Mapping[str, Any]) -> None:
    """A counter that the last reading has already begins a new one."""
    parts = ("counters", "ratios")
    last = readings.pop() if readings else {part: {} for part in parts}
    if any(set(last[part]) & set(reading[part]) for part in parts):
        readings += [last, reading]
    else:
        readings.append({part: {**last[part], **reading[part]} for part in parts})


@dataclass(frozen=True, slots=True)
class Ruling:
    """The findings of a rule. `judged` names the things it judged; it is empty where the rule could
    judge none, and `missing` then names the input that lacks. `unknown` names
    things among them that it could not judge."""

    judged: str = ""
    missing: str = ""
    findings: tuple[Finding, ...] = ()
    unknown: tuple[str, ...] = ()


def not_judged(missing: str) -> Ruling:
    """A rule that cannot judge for lack of an input."""
    return Ruling(missing=missing)


def finding(
    kind: FindingKind,
    severity: Severity,
    sentence: str,
    *,
    evidence: tuple[str, ...] = (),
    fix: str = "",
    next_command: str | None = None,
    facts: AuditFacts | None = None,
) -> Finding:
    """A finding of the audit; the fix is one of its facts."""
    lines = tuple(printable(line) for line in evidence)
    values = replace(facts or AuditFacts(), fix=fix)
    return Finding(kind, severity, printable(sentence), lines, next_command, values)


def printable(text: str) -> str:
    """Text of files without what would steer a terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
